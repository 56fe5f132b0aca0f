"""Brute force: simulate links from a grid of C, B and initial states, and select those that explain a window."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from benches.game_bounds.link import Link, Model, Window

#: Number of values of C, of B and of I[0], in addition to the true values.
VALUES: Final = 48
#: Maximum difference of equal observations, packets; without a tolerance, no link of the grid would match exactly.
NEAR: Final = 1e-9

Array = npt.NDArray[np.float64]


def around(true: float, low: float, high: float) -> Array:
    """Return values between two ends. They include the true value, and half of them are near it."""
    wide = np.linspace(low, high, VALUES // 2)
    near = true + (high - low) * 0.05 * np.linspace(-1, 1, VALUES // 2 + 1)
    return np.unique(np.clip(np.concatenate([wide, near, [true]]), low, high))


def explaining(window: Window, model: Model, link: Link) -> dict[str, Any] | None:
    """Return the extremes over the grid's links that reproduce the observations; None if there is none.

    The grid is over C, B, I[-1] and, if the losses of the first point are unknown, N[0]. The link's equations determine
    everything else; the simulated losses must equal the observed losses.
    """
    if model.slack or model.jitter != 1:
        raise ValueError("the grid simulates only fluid links with one step of jitter")
    sent, delivered = ([float(x) for x in side] for side in (window.sent, window.delivered))
    lost, end = [float(x) for x in window.lost], float(window.delivered[-1])
    known = len(lost)
    at = len(sent)
    # The link is at the next point; before its first point it was idle.
    begin = len(link.served) - 1 - at
    true_served = float(link.served[begin - 1]) if begin else 0.0
    c = around(float(link.c), float(model.c[0]), min(float(model.c[1]), 3 * float(link.c)))[:, None, None, None]
    b = around(float(link.b), float(model.b[0]), min(float(model.b[1]), 3 * float(link.b)))[None, :, None, None]
    low = max(0.0, delivered[0] - float(c.max()))
    served = around(true_served, min(low, true_served), max(delivered[0], true_served))[None, None, :, None]
    # N[0]: the packets accepted until the first point; one value if the losses are known.
    most = sent[0] - float(window.lost_before)
    true_accepted = float(link.sent[begin] - link.lost[begin])
    first = [sent[0] - lost[0]] if known else [*np.linspace(end, most, 7)[1:], true_accepted]
    accepted = np.unique(first)[None, None, None, :]
    good = (served <= delivered[0] + NEAR) & (accepted <= served + c + b + NEAR) & (accepted >= served)
    good &= (accepted <= most + NEAR) & (accepted > end if not known else True)
    c, b, served, accepted, good = np.broadcast_arrays(c, b, served, accepted, good)
    served = np.minimum(served + c, accepted)
    good = good & (served >= delivered[0] - NEAR)
    for t in range(1, at + 1):
        arriving = (sent[t] if t < at else float(window.sent_next)) - sent[t - 1]
        offered = accepted + arriving
        previous, accepted = served, np.minimum(offered, served + c + b)
        served = np.minimum(served + c, accepted)
        if t == at:
            break
        good &= (previous <= delivered[t] + NEAR) & (delivered[t] <= served + NEAR)
        if t < known:
            good &= np.abs(accepted - (sent[t] - lost[t])) <= NEAR
            accepted = np.where(good, sent[t] - lost[t], accepted)
        else:
            good &= accepted > end
    if not good.any():
        return None
    queue = (accepted - served)[good]
    c, b = c[good], b[good]
    return {
        "c": [c.min(), c.max()],
        "b": [b.min(), b.max()],
        "q": [queue.min(), queue.max()],
        "safe_rate": (c + b - queue).min(),
        "min_c_plus_b": (c + b).min(),
    }
