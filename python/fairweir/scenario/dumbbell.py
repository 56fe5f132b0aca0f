"""Scenarios as TOML has them, for searches and batteries: flows that share one bottleneck, and when they start."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fairweir.ccas.cca_spec import AnyCca, table_of
from fairweir.units import Bytes, Duration, Rate

ScenarioDict = dict[str, Any]

Cca = AnyCca
"""A CCA as users name it: ``"vegas"``, ``"vegas{alpha=4}"``, ``{"name": "vegas", "alpha": 4}`` or a class."""

START_SPREAD = Duration.from_s(2)
"""Flows start at random within it: simultaneous starts would synchronise them, and ties are not evidence."""

PACKET = Bytes(1500)
"""Default packet size of scenarios."""

EARLY_SPREAD = Duration.from_ms(100)
"""The same for flows that must all observe an empty queue first, with random phases."""

_US = Duration.from_us(1)


def cca_name(cca: Cca) -> str:
    """Return the name alone, as results show it; a text with parameters is shown whole."""
    return cca if isinstance(cca, str) else str(table_of(cca)["name"])


def start_times(seed: int, n: int, spread: Duration = START_SPREAD) -> list[Duration]:
    """Return start times that a seed draws, in [0, spread), to the microsecond."""
    dice = random.Random(f"start times {seed}")  # noqa: S311
    return [(dice.random() * spread).rounded(_US) for _ in range(n)]


def flow(cca: str, rtprop: Duration, start: Duration | None = None, **keys: Any) -> dict[str, Any]:
    """Return a flow's table; `keys` are written as they are."""
    table: dict[str, Any] = {"cca": cca, "rtprop": str(rtprop)}
    if start:
        table["start"] = str(start)
    table.update(keys)
    return table


def flows(cca: str, rtprops: Sequence[Duration], seed: int, spread: Duration = START_SPREAD) -> list[dict[str, Any]]:
    """Return one flow for each rtprop, all of one CCA, started at random."""
    starts = start_times(seed, len(rtprops), spread)
    return [flow(cca, r, s) for r, s in zip(rtprops, starts, strict=True)]


def dumbbell(
    name: str,
    description: str,
    *,
    rate: Rate,
    buffer: str,
    flow_tables: Sequence[dict[str, Any]],
    duration: Duration,
    warmup: Duration,
    seed: int,
    **link_keys: Any,
) -> ScenarioDict:
    """Return a scenario with one bottleneck that all flows share."""
    return {
        "name": name,
        "description": description,
        "duration": str(duration),
        "warmup": str(warmup),
        "seed": seed,
        "link": {"bottleneck": {"rate": str(rate), "buffer": buffer, **link_keys}},
        "flow": list(flow_tables),
    }
