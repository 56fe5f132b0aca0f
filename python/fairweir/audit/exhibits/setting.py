"""Settings that the families of an audit share: durations, and the points of the three depths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.exhibits.family import Depth, Place
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

STEADY_SHARE = 0.4
"""Fraction of a run, at its end, over which long flows are measured (FRCC's scripts; docs/derivations.md)."""


def steady_times(rate: Rate, patience: float) -> tuple[Duration, Duration]:
    """Return the duration and warm-up of a run of long flows.

    The duration is five minutes as in FRCC section 7. It is less on fast links, where a minute has millions of packets;
    a flow that has not converged by the end counts as not converging.
    """
    if rate <= Rate.from_mbps(100):
        duration = Duration.from_s(300)
    elif rate <= Rate.from_mbps(300):
        duration = Duration.from_s(200)
    else:
        duration = Duration.from_s(100)
    duration *= patience
    return duration, ((1.0 - STEADY_SHARE) * duration).rounded(Duration.from_ms(1))


def places(
    unit: str, quick: Sequence[float], default: Sequence[float], deep: Sequence[float]
) -> dict[Depth, list[Place]]:
    """Return the points of the three depths, labeled with their unit."""

    def label(x: float) -> str:
        return f"{x:g} {unit}".strip()

    return {
        Depth.QUICK: [Place(x, label(x)) for x in quick],
        Depth.DEFAULT: [Place(x, label(x)) for x in default],
        Depth.DEEP: [Place(x, label(x)) for x in deep],
    }


def categories(quick: Sequence[str], default: Sequence[str], deep: Sequence[str]) -> dict[Depth, list[Place]]:
    """Return points that are names; a name has the same x at every depth."""
    order = {name: float(i) for i, name in enumerate(dict.fromkeys([*deep, *default, *quick]))}
    return {
        Depth.QUICK: [Place(order[n], n) for n in quick],
        Depth.DEFAULT: [Place(order[n], n) for n in default],
        Depth.DEEP: [Place(order[n], n) for n in deep],
    }
