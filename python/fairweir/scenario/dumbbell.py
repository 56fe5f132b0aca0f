"""Scenarios in which all flows share one bottleneck, and random start times of flows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairweir.ccas.cca_spec import AnyCca, table_of
from fairweir.documents.quantities import show
from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.units import Bytes, Duration, Rate

ScenarioDict = dict[str, Any]

Cca = AnyCca
"""A CCA: ``"vegas"``, ``"vegas{alpha=4}"``, ``{"name": "vegas", "alpha": 4}`` or a class."""

PACKET = Bytes(1500)
"""Default packet size of scenarios."""

START_SPREAD = Duration.from_s(2)
"""Flows of an audit or a contract start at random times within this interval.

Simultaneous starts would synchronize the flows, and results that depend on ties are not evidence. The interval is long
enough for a slow start between two arrivals.
"""
PHASE_SPREAD = Duration.from_ms(100)
"""Flows that must all observe an empty queue at first start within this interval; it randomizes only their phases."""
ARRIVAL_SPREAD = Duration.from_ms(500)
"""Flows that a guard treats as one group of arrivals start within this interval."""

_US = Duration.from_us(1)
NO_TIME = Duration.from_ns(0)


def cca_name(cca: Cca) -> str:
    """Return a controller's name, as results show it; a string with parameters is returned unchanged."""
    return cca if isinstance(cca, str) else str(table_of(cca)["name"])


def draw_starts(dice: random.Random, n: int, spread: Duration, *, after: Duration = NO_TIME) -> list[Duration]:
    """Draw n start times in [after, after + spread), rounded to microseconds."""
    return [(after + dice.random() * spread).rounded(_US) for _ in range(n)]


def start_times(seed: int, n: int, spread: Duration = START_SPREAD) -> list[Duration]:
    """Return n start times in [0, spread), drawn with a seed and rounded to microseconds."""
    return draw_starts(random.Random(f"start times {seed}"), n, spread)  # noqa: S311


def flow(cca: str, rtprop: Duration, start: Duration | None = None, **keys: Any) -> dict[str, Any]:
    """Return a flow's table; `keys` are further keys of the table."""
    table: dict[str, Any] = {"cca": cca, "rtprop": str(rtprop)}
    if start:
        table["start"] = str(start)
    table.update(keys)
    return table


def flows(cca: str, rtprops: Sequence[Duration], seed: int, spread: Duration = START_SPREAD) -> list[dict[str, Any]]:
    """Return one flow per rtprop, all with the same CCA and random start times."""
    starts = start_times(seed, len(rtprops), spread)
    return [flow(cca, r, s) for r, s in zip(rtprops, starts, strict=True)]


def dumbbell_document(
    name: str,
    description: str,
    *,
    rate: Rate | str,
    buffer: str,
    flow_tables: Sequence[dict[str, Any]],
    duration: Duration | str,
    warmup: Duration | str,
    seed: int,
    **link_keys: Any,
) -> ScenarioDict:
    """Return the document, not validated, of a scenario with one link, `bottleneck`, that all flows share."""
    return {
        "name": name,
        **({"description": description} if description else {}),
        "duration": _text(duration),
        "warmup": _text(warmup),
        "seed": seed,
        "link": {"bottleneck": {"rate": _text(rate), "buffer": buffer, **link_keys}},
        "flow": list(flow_tables),
    }


def dumbbell(
    ccas: AnyCca | Sequence[AnyCca],
    *,
    rate: Rate | str = "96Mbps",
    rtprop: Duration | str | Sequence[Duration | str] = "40ms",
    buffer: str = "1bdp",
    duration: Duration | str = "60s",
    warmup: Duration | str = "0s",
    seed: int = 1,
    name: str = "dumbbell",
    description: str = "",
    link: Mapping[str, Any] | None = None,
    flows: Sequence[Mapping[str, Any]] | None = None,
    base: Path | None = None,
    **each: Any,
) -> Scenario:
    """Return a scenario with one link, `bottleneck`, that all flows share.

    Parameters
    ----------
    ccas : one controller, or one per flow: a name, ``cubic{beta=0.5}``, a table with ``name`` and parameters, or a
        class
    rate, buffer : rate of the link, a Rate or text with unit; and its buffer, a text such as ``"1.5bdp"``
    rtprop : Duration or text with unit; one value, or one per flow
    duration, warmup : Duration or text with unit
    link : further keys of the link, such as ``{"aqm": "codel"}``
    flows : further keys of each flow; one mapping per flow
    base : Path of the folder to which file names are relative
    each : further keys of all flows, such as ``ecn=True``

    Returns
    -------
    Scenario; the number of flows is the length of the longest of `ccas`, `rtprop` and `flows`; single values are
    repeated

    Raises
    ------
    ConfigError : a value is invalid, or lists have different lengths
    """
    columns: dict[str, list[Any]] = {
        "cca": _column("ccas", ccas, (str, type, Mapping), 'write "bbr", ["bbr", "cubic"], or classes'),
        "rtprop": _column("rtprop", rtprop, (str, Duration), 'write it with its unit: "40ms", or one per flow'),
        "flows": _column("flows", [{}] if flows is None else flows, (Mapping,), 'write [{"start": "1s"}, {}]'),
    }
    n = max(map(len, columns.values()))
    for key, column in columns.items():
        if len(column) not in (1, n):
            raise ConfigError(f"{key} has {len(column)} entries for {n} flows", hint="write one entry, or one per flow")
    cca, delay, more = (column * n if len(column) == 1 else column for column in columns.values())
    document = dumbbell_document(
        name,
        description,
        rate=rate,
        buffer=buffer,
        flow_tables=[{"cca": cca[i], "rtprop": _text(delay[i]), **each, **more[i]} for i in range(n)],
        duration=duration,
        warmup=warmup,
        seed=seed,
    )
    document["link"]["bottleneck"] |= link or {}
    return Scenario.from_dict(document, source=name, base=base)


def _text(quantity: object) -> object:
    """Return a quantity as a text; other types are returned unchanged, and the scenario's validation rejects them."""
    return str(quantity) if isinstance(quantity, (Rate, Duration)) else quantity


def _column(name: str, given: object, single: tuple[type, ...], hint: str) -> list[Any]:
    """Return an argument as a list; the argument is one value, or a list with one value per flow.

    Raises
    ------
    ConfigError : the argument has another type
    """
    values = [given] if isinstance(given, (*single, str)) or not isinstance(given, Sequence) else list(given)
    for value in values:
        if not isinstance(value, single):
            raise ConfigError(f"{name} cannot be `{show(value)}`", hint=hint)
    return values
