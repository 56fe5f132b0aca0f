"""Examples for training the flow policy: a receiver's features of a flow, and the flow's true share."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairweir import _core
from fairweir.documents.store import Store
from fairweir.errors import FairweirError
from fairweir.guard.configurations import LEARN_FROM, PlannedRun
from fairweir.play.pool import Done, Where, map_jobs
from fairweir.play.sweep import fingerprint
from fairweir.units import Bytes, Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Range of throughput divided by the fair share in which a flow is "near" (CMU-CS-24-129, section 5.2).
NEAR = (0.9, 1.1)
CLASSES = ("below", "near", "above")
#: Features that reveal when a flow started, and therefore which flow is the newcomer. In operation, the start time does
#: not identify a newcomer, so that these features would leak the class.
LEAKING_FEATURES = frozenset({"age_us", "seq_bytes", "wire_bytes", "payload_bytes"})
#: Packet arrivals are sampled so that about this multiple of the required rows remains, from which the required rows
#: are drawn. The first value is for runs without a guard, the second for runs in which a guard limits flows.
_SURPLUS, _SURPLUS_HELD = 3, 30

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Examples:
    """Rows of all features and their labels.

    Attributes
    ----------
    values : n x 209; NaN if unknown; columns as in ``_core.guard_features()``
    labels : n; indices into :data:`CLASSES`
    """

    values: Floats
    labels: Labels

    def without(self, features: Collection[str]) -> Examples:
        """Return the examples with some features set to a constant, so that a model cannot use them."""
        values = self.values.copy()
        values[:, [_core.guard_features().index(name) for name in features]] = 0.0
        return Examples(values, self.labels)

    @staticmethod
    def joined(many: Sequence[Examples]) -> Examples:
        """Return the concatenation of examples."""
        width = len(_core.guard_features())
        values = [one.values for one in many] or [np.empty((0, width))]
        labels = [one.labels for one in many] or [np.empty(0, np.uint8)]
        return Examples(np.concatenate(values), np.concatenate(labels))


def label(share: Floats) -> Labels:
    """Return the class of each share (throughput divided by the fair share): 0 below, 1 near, 2 above."""
    low, high = NEAR
    return np.where(share < low, 0, np.where(share <= high, 1, 2)).astype(np.uint8)


@dataclass(frozen=True)
class _Job:
    config: Mapping[str, Any]
    rows: int
    seed: int
    forest: str | None


def _play(job: _Job) -> tuple[bytes, bytes]:
    """Run the job; return the values and the shares of its rows as raw bytes."""
    config = job.config
    # In training, the guard starts at the same time as the flows.
    from_ns = 0 if job.forest is not None else int(config["duration"] * LEARN_FROM)
    sampled = one_in(config, from_ns, job.rows, _SURPLUS if job.forest is None else _SURPLUS_HELD)
    columns = _core.guard_examples(json.dumps(config), from_ns, sampled, job.seed, forest=job.forest)
    values, share = draw_rows(columns, config, job.rows, job.seed)
    return values.tobytes(), share.tobytes()


def one_in(config: Mapping[str, Any], from_ns: int, rows: int, surplus: int = _SURPLUS) -> int:
    """Return k so that sampling one in k arrivals since `from_ns` gives about `surplus` times `rows` samples."""
    rate = Rate.from_bytes_per_s(config["links"][0]["hop"]["link"]["rate"])
    arrivals = rate * Duration.from_ns(config["duration"] - from_ns) / Bytes(config["packet"])
    return max(1, int(arrivals / (surplus * rows)))


def draw_rows(columns: Mapping[str, bytes], config: Mapping[str, Any], rows: int, seed: int) -> tuple[Floats, Floats]:
    """Draw at most `rows` examples of a run; return their values (rows x features) and shares."""
    active = np.frombuffer(columns["active"], np.uint32)
    rate = Rate.from_bytes_per_s(config["links"][0]["hop"]["link"]["rate"])
    share = np.frombuffer(columns["mbps"]) * active / rate.mbps
    values = np.frombuffer(columns["values"]).reshape(len(share), -1)
    dice = np.random.default_rng(seed)
    chosen = np.sort(dice.choice(len(share), min(rows, len(share)), replace=False))
    return values[chosen], share[chosen]


@dataclass(frozen=True)
class Library:
    """Examples of finished runs in a directory, one file each; without a directory nothing is stored."""

    directory: Path | None

    def get(self, key: str) -> Examples | None:
        """Return the stored examples of a run; None if there are none."""
        found = self._store.get(key)
        return None if found is None else Examples(found[0], label(found[1]))

    def put(self, key: str, values: Floats, share: Floats) -> Examples:
        """Store a run's examples."""
        self._store.put(key, (values, share))
        return Examples(values, label(share))

    @property
    def _store(self) -> Store[tuple[Floats, Floats]]:
        return Store(self.directory, _encode, _decode, ".npz")


def _encode(rows: tuple[Floats, Floats]) -> bytes:
    content = io.BytesIO()
    np.savez(content, values=rows[0], share=rows[1])
    return content.getvalue()


def _decode(content: bytes) -> tuple[Floats, Floats]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        values, share = file["values"], file["share"]
    if values.ndim != 2 or share.shape != values.shape[:1]:
        raise ValueError("a share per row of values is missing")
    return values, share


def gather(
    planned_runs: Sequence[PlannedRun],
    rows: int,
    library: Library,
    *,
    forest: str | None = None,
    workers: Where = None,
    on_done: Callable[[], object] | None = None,
) -> list[Examples]:
    """Run the planned runs, except those whose examples are stored, and return the examples of all.

    Parameters
    ----------
    planned_runs : the runs
    rows : int; maximum number of examples per run
    library : store of examples, to which each run's examples are added when the run ends
    forest : JSON. A guard limits the flows with this forest, and examples are from the whole run. If None, there is no
        guard, and examples are from the last fifth of the run.
    workers : int, number of processes, default one per core; or a :class:`fairweir.Cluster`
    on_done : called after each run

    Returns
    -------
    list of Examples, in the order of `planned_runs`

    Raises
    ------
    FairweirError : a run failed
    """
    held = "" if forest is None else f"-{hashlib.sha256(forest.encode()).hexdigest()[:20]}"
    keys = [f"{fingerprint(planned.scenario)}-{rows}{held}" for planned in planned_runs]
    found: dict[str, Examples] = {}
    for key in keys:
        if (kept := library.get(key)) is not None:
            found[key] = kept
            if on_done is not None:
                on_done()
    left = [(key, planned) for key, planned in zip(keys, planned_runs, strict=True) if key not in found]
    jobs = [_Job(planned.scenario.resolve(), rows, planned.seed, forest) for _, planned in left]

    def keep(outcome: Any) -> None:
        if isinstance(outcome, Done):
            values, share = (np.frombuffer(raw) for raw in outcome.value)
            found[left[outcome.index][0]] = library.put(left[outcome.index][0], values.reshape(len(share), -1), share)
        if on_done is not None:
            on_done()

    for outcome in map_jobs(_play, jobs, workers=workers, on_done=keep):
        if not outcome.ok:
            if outcome.kind == "cancelled":
                raise KeyboardInterrupt
            name = left[outcome.index][1].part.name
            raise FairweirError(f"a run of `{name}` failed: {outcome.reason}", hint="run the same command to resume")
    return [found[key] for key in keys]
