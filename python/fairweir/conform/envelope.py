"""Performance envelopes in the plane of throughput and delay, and the overlap of two of them.

**Source**: A. Mishra, S. Lim and B. Leong, "Understanding Speciation in QUIC Congestion Control", IMC 2022, and their
program QUICbench (``visualize/plot_perf_env.py``): throughput and delay are sampled every 10 RTTs; the 5 % of the
samples that are farthest from the mean are left out; the envelope is the convex hull of the others; conformance is the
fraction of the samples of both sides that are within the other side's envelope. Clusters and the translation
(*conformance-T*) are those of A. Mishra and B. Leong, "Containing the Cambrian Explosion in QUIC Congestion Control",
IMC 2023.

**Deviations**: coordinates are fractions of the link rate and of the maximum queueing delay, so that distances have a
meaning. A sample is a square with a side of twice :data:`RESOLUTION`, so that flows with constant throughput have an
envelope with an area. Both sides have the same weight even if their numbers of samples differ. The number of clusters
follows from silhouettes of the reference's samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Points = NDArray[np.float64]

#: Half the side of a sample's square, as a fraction of the link rate and of the maximum queueing delay.
RESOLUTION: Final = 0.02
#: Fraction of a cluster's samples, the nearest to its mean, that the envelope contains.
KEPT: Final = 0.95
MAX_CLUSTERS: Final = 3
#: Minimum mean silhouette at which samples form clusters: a strong structure (Kaufman and Rousseeuw 1990).
STRONG_STRUCTURE: Final = 0.7
#: Points per axis of the grid of translations, and the number of times that it is refined.
GRID, REFINEMENTS = 15, 2
_CORNERS: Final = RESOLUTION * np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Envelope:
    """The envelope of samples: the union of the convex hulls of its clusters.

    Attributes
    ----------
    points : n × 2 array; the samples within the envelope
    hulls : the corners of each hull, in order, k × 2 arrays
    faces : the faces of each hull, m × 3 arrays (a, b, c), with a x + b y + c ≤ 0 inside
    """

    points: Points
    hulls: tuple[Points, ...]
    faces: tuple[Points, ...]

    def contains(self, points: Points) -> NDArray[np.bool_]:
        """Return which of the points, an array (..., 2), are in at least one hull."""
        inside = np.zeros(points.shape[:-1], dtype=bool)
        for faces in self.faces:
            inside |= np.all(points @ faces[:, :2].T + faces[:, 2] <= 1e-12, axis=-1)
        return inside

    @cached_property
    def mean(self) -> Points:
        """Mean of the samples."""
        return np.asarray(self.points.mean(axis=0))


def envelope(points: Points, clusters: int = 1) -> Envelope:
    """Return the envelope of samples.

    Parameters
    ----------
    points : n × 2 array, n > 0, in fractions
    clusters : number of clusters
    """
    from scipy.spatial import ConvexHull

    kept: list[Points] = []
    hulls: list[Points] = []
    faces: list[Points] = []
    for part in _clusters(points, clusters):
        distance = np.linalg.norm(part - part.mean(axis=0), axis=1)
        near = part[np.argsort(distance, kind="stable")[: max(1, int(KEPT * len(part)))]]
        hull = ConvexHull((near[:, None, :] + _CORNERS).reshape(-1, 2))
        kept.append(near)
        hulls.append(hull.points[hull.vertices])
        faces.append(hull.equations)
    return Envelope(np.concatenate(kept), tuple(hulls), tuple(faces))


def number_of_clusters(points: Points) -> int:
    """Return the number of clusters with the largest mean silhouette, or 1 if none has :data:`STRONG_STRUCTURE`."""
    best, number = STRONG_STRUCTURE, 1
    for k in range(2, MAX_CLUSTERS + 1):
        parts = _clusters(points, k)
        # A cluster of less than a tenth of the samples is a start or a stall, not a state of the controller.
        if len(parts) == k and min(map(len, parts)) >= len(points) / 10 and (found := _silhouette(parts)) > best:
            best, number = found, k
    return number


def conformance(candidate: Envelope, reference: Envelope) -> float:
    """Return the mean of two fractions: samples of each side within the other side's envelope; in [0, 1]."""
    return float(_overlap(candidate, reference, np.zeros((1, 2)))[0])


def best_translation(candidate: Envelope, reference: Envelope) -> tuple[float, Points]:
    """Return the largest conformance of the translated candidate, and the candidate's offset from the reference.

    Returns
    -------
    float, conformance-T; array of 2, the negative translation, in fractions: of the translations with this conformance,
    the shortest that the grid contains
    """
    shift = reference.mean - candidate.mean
    span = np.abs(shift) + 5 * RESOLUTION
    # The grid need not contain the zero translation, so the untranslated candidate is also a possible result.
    best, at = conformance(candidate, reference), np.zeros(2)
    center = shift
    for _ in range(1 + REFINEMENTS):
        axes = [np.linspace(center[i] - span[i], center[i] + span[i], GRID) for i in (0, 1)]
        shifts = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        shifts = shifts[np.argsort(np.linalg.norm(shifts, axis=1), kind="stable")]
        values = _overlap(candidate, reference, shifts)
        first = int(np.argmax(values))
        if values[first] > best + 1e-12:
            best, at = float(values[first]), shifts[first]
        center, span = at, span * 2 / (GRID - 1)
    return best, -at


def _overlap(candidate: Envelope, reference: Envelope, shifts: Points) -> Points:
    """Return the conformance of the candidate with each of the translations, an array m × 2."""
    moved = candidate.points[None, :, :] + shifts[:, None, :]
    back = reference.points[None, :, :] - shifts[:, None, :]
    return np.asarray(reference.contains(moved).mean(axis=1) + candidate.contains(back).mean(axis=1)) / 2


def _clusters(points: Points, number: int) -> list[Points]:
    """Return the samples of each cluster; one cluster if k-means finds fewer than `number`."""
    from scipy.cluster.vq import ClusterError, kmeans2

    if number == 1 or len(np.unique(points, axis=0)) < number:
        return [points]
    try:
        _, label = kmeans2(points, number, minit="++", missing="raise", rng=np.random.default_rng(0))
    except ClusterError:
        return [points]
    return [points[label == k] for k in range(number)]


def _silhouette(parts: Sequence[Points]) -> float:
    from scipy.spatial.distance import cdist

    values = []
    for i, part in enumerate(parts):
        if len(part) < 2:
            values.append(np.zeros(len(part)))
            continue
        within = cdist(part, part).sum(axis=1) / (len(part) - 1)
        other = np.min([cdist(part, rest).mean(axis=1) for j, rest in enumerate(parts) if j != i], axis=0)
        values.append((other - within) / np.maximum(np.maximum(other, within), 1e-12))
    return float(np.concatenate(values).mean())
