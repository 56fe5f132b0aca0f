"""Scenario dicts as TOML has them, for families: dumbbells, flows, start times."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from fairweir.audit.exhibits.family import Depth, Place, ScenarioDict

if TYPE_CHECKING:
    from collections.abc import Sequence

START_SPREAD_S = 2.0
"""Flows start at random within it: simultaneous starts would synchronise them, and ties are not evidence."""


STEADY_SHARE = 0.4
"""Long flows are measured over the last 40 % of a run (FRCC's scripts, specs/frcc.md section 4)."""


def steady_times_s(rate_mbps: float, patience: float) -> tuple[float, float]:
    """Duration and warm-up of a run of long flows.

    Five minutes as in FRCC section 7; less on fast links, where a minute is millions of packets: what has not converged
    by then is found not to have.
    """
    if rate_mbps <= 100.0:
        duration_s = 300.0
    elif rate_mbps <= 300.0:
        duration_s = 200.0
    else:
        duration_s = 100.0
    duration_s *= patience
    return duration_s, round((1.0 - STEADY_SHARE) * duration_s, 3)


def mbps(rate: float) -> str:
    """A rate as scenarios write it."""
    return f"{rate:g}Mbps"


def ms(time: float) -> str:
    """A time as scenarios write it."""
    return f"{time:g}ms"


def seconds(time: float) -> str:
    """A time as scenarios write it, to the microsecond."""
    return f"{round(time * 1e6)}us" if time != int(time) else f"{int(time)}s"


def start_times_s(seed: int, n: int, spread_s: float = START_SPREAD_S) -> list[float]:
    """Start times that a seed draws, in [0, spread) s, to the microsecond."""
    dice = random.Random(f"start times {seed}")  # noqa: S311
    return [round(dice.random() * spread_s, 6) for _ in range(n)]


def flow(cca: str, rtprop_ms: float, start_s: float = 0.0, **keys: Any) -> dict[str, Any]:
    """A flow's table; `keys` are written as they are."""
    table: dict[str, Any] = {"cca": cca, "rtprop": ms(rtprop_ms)}
    if start_s > 0.0:
        table["start"] = seconds(start_s)
    table.update(keys)
    return table


def flows(cca: str, rtprops_ms: Sequence[float], seed: int, spread_s: float = START_SPREAD_S) -> list[dict[str, Any]]:
    """One flow for each rtprop, all of one CCA, started at random."""
    starts = start_times_s(seed, len(rtprops_ms), spread_s)
    return [flow(cca, r, s) for r, s in zip(rtprops_ms, starts, strict=True)]


def dumbbell(
    name: str,
    description: str,
    *,
    rate_mbps: float,
    buffer: str,
    flow_tables: Sequence[dict[str, Any]],
    duration_s: float,
    warmup_s: float,
    seed: int,
    **link_keys: Any,
) -> ScenarioDict:
    """One bottleneck that all flows share."""
    return {
        "name": name,
        "description": description,
        "duration": seconds(duration_s),
        "warmup": seconds(warmup_s),
        "seed": seed,
        "link": {"bottleneck": {"rate": mbps(rate_mbps), "buffer": buffer, **link_keys}},
        "flow": list(flow_tables),
    }


def places(
    unit: str, quick: Sequence[float], default: Sequence[float], deep: Sequence[float]
) -> dict[Depth, list[Place]]:
    """Points of the three batteries, labelled with their unit."""

    def label(x: float) -> str:
        return f"{x:g} {unit}".strip()

    return {
        Depth.QUICK: [Place(x, label(x)) for x in quick],
        Depth.DEFAULT: [Place(x, label(x)) for x in default],
        Depth.DEEP: [Place(x, label(x)) for x in deep],
    }


def categories(quick: Sequence[str], default: Sequence[str], deep: Sequence[str]) -> dict[Depth, list[Place]]:
    """Points that are names; a name has the same x in every battery."""
    order = {name: float(i) for i, name in enumerate(dict.fromkeys([*deep, *default, *quick]))}
    return {
        Depth.QUICK: [Place(order[n], n) for n in quick],
        Depth.DEFAULT: [Place(order[n], n) for n in default],
        Depth.DEEP: [Place(order[n], n) for n in deep],
    }
