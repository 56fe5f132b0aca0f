"""Scenarios as TOML has them, for searches and batteries: flows that share one bottleneck, and when they start."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fairweir.cca_spec import AnyCca, table_of

ScenarioDict = dict[str, Any]

Cca = AnyCca
"""A CCA as users name it: ``"vegas"``, ``"vegas{alpha=4}"``, ``{"name": "vegas", "alpha": 4}`` or a class."""

START_SPREAD_S = 2.0
"""Flows start at random within it: simultaneous starts would synchronise them, and ties are not evidence."""


def cca_name(cca: Cca) -> str:
    """Return the name alone, as results show it; a text with parameters is shown whole."""
    return cca if isinstance(cca, str) else str(table_of(cca)["name"])


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
