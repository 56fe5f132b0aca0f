"""Build scenarios in which all flows share one bottleneck, and draw random start times of flows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fairweir.ccas.cca_spec import AnyCca, table_of
from fairweir.documents.quantities import show
from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.scenario.resolve import NONE
from fairweir.scenario.transport import IDEAL
from fairweir.units import Bytes, Duration, Rate

ScenarioDict = dict[str, Any]

Cca = AnyCca
"""A CCA in one of four forms: ``"vegas"``, ``"vegas{alpha=4}"``, ``{"name": "vegas", "alpha": 4}`` or a class."""

PACKET = Bytes(1500)
"""The packet size of a scenario that does not set another."""

EXACT_HOSTS: Final = {"noise": NONE, "transport": IDEAL}
"""Keys of a scenario whose hosts add nothing to what theorems, contracts and fluid models assume: no processing time,
no mechanism of Linux's TCP.
"""

START_SPREAD = Duration.from_s(2)
"""Flows of an audit or a contract start at random times within this interval.

Simultaneous starts would synchronize the flows, and results that depend on coincidences are not evidence. The interval
is long enough for a slow start between two flows' starts.
"""
PHASE_SPREAD = Duration.from_ms(100)
"""If all flows must observe an empty queue at first, they start within this short interval, which randomizes only their
phases.
"""
ARRIVAL_SPREAD = Duration.from_ms(500)
"""Flows start within this interval if the guard (the program that limits senders at the receiver) should treat them as
one group of new flows.
"""

_US = Duration.from_us(1)
NO_TIME = Duration.from_ns(0)


def cca_name(cca: Cca) -> str:
    """Return a CCA's name as results show it; a string that contains parameters is returned unchanged."""
    return cca if isinstance(cca, str) else str(table_of(cca)["name"])


def draw_starts(dice: random.Random, n: int, spread: Duration, *, after: Duration = NO_TIME) -> list[Duration]:
    """Draw `n` random start times between `after` and `after + spread`, rounded to microseconds."""
    return [(after + dice.random() * spread).rounded(_US) for _ in range(n)]


def start_times(seed: int, n: int, spread: Duration = START_SPREAD) -> list[Duration]:
    """Return `n` random start times between 0 and `spread`, rounded to microseconds. Equal seeds give equal times."""
    return draw_starts(random.Random(f"start times {seed}"), n, spread)  # noqa: S311


def flow(cca: str, rtprop: Duration, start: Duration | None = None, **keys: Any) -> dict[str, Any]:
    """Return the table of a flow, with `keys` as further keys."""
    table: dict[str, Any] = {"cca": cca, "rtprop": str(rtprop)}
    if start:
        table["start"] = str(start)
    table.update(keys)
    return table


def flows(cca: str, rtprops: Sequence[Duration], seed: int, spread: Duration = START_SPREAD) -> list[dict[str, Any]]:
    """Return one flow's table per value of `rtprops`. All flows have the same CCA, and random start times."""
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
    """Return the document of a scenario in which all flows share one link, `bottleneck`. The document is not
    validated.
    """
    return {
        "name": name,
        **({"description": description} if description else {}),
        "duration": _text(duration),
        "warmup": _text(warmup),
        "seed": seed,
        "link": {"bottleneck": {"rate": _text(rate), "buffer": buffer, **link_keys}},
        "flow": list(flow_tables),
    }


def exact_dumbbell(name: str, description: str, **keys: Any) -> ScenarioDict:
    """Return the document of :func:`dumbbell_document` with :data:`EXACT_HOSTS`: what flows observe is what theorems
    and contracts say of links.
    """
    return {**dumbbell_document(name, description, **keys), **EXACT_HOSTS}


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
    ccas : one CCA, or one per flow: a name, ``cubic{beta=0.5}``, a table with ``name`` and parameters, or a class
    rate, buffer : rate of the link, a Rate or a text with unit; buffer of the link, a text such as ``"1.5bdp"``
    rtprop : round-trip propagation delay, a Duration or a text with unit; one value, or one per flow
    duration, warmup : Duration or text with unit
    link : further keys of the link, such as ``{"aqm": "codel"}``
    flows : for each flow, a mapping with further keys of the flow
    base : Path of the folder to which file names are relative
    each : further keys that all flows get, such as ``ecn=True``

    Returns
    -------
    Scenario; the number of flows is the length of the longest list among `ccas`, `rtprop` and `flows`, and a single
        value applies to all flows

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
    """Return a quantity as a text. Other types are returned unchanged, so that the validation of the scenario rejects
    them.
    """
    return str(quantity) if isinstance(quantity, (Rate, Duration)) else quantity


def _column(name: str, given: object, single: tuple[type, ...], hint: str) -> list[Any]:
    """Return an argument as a list with one value per flow; a single value becomes a list of length 1.

    Raises
    ------
    ConfigError : the argument has another type
    """
    values = [given] if isinstance(given, (*single, str)) or not isinstance(given, Sequence) else list(given)
    for value in values:
        if not isinstance(value, single):
            raise ConfigError(f"{name} cannot be `{show(value)}`", hint=hint)
    return values
