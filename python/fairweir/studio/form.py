"""The form of a scenario: its fields with their values, and for quantities and numbers the range of a slider."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairweir.ccas.lookup import algorithms
from fairweir.scenario.links import Link
from fairweir.scenario.model import Flow, Scenario
from fairweir.scenario.resolve import HOST, NONE
from fairweir.scenario.transport import IDEAL, LINUX

_QUANTITY: Final = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z%/]+)\s*$")
#: A slider spans this factor in each direction from the value at which the form was made.
_SPAN: Final = 10.0
_MAX_LINEAR_FLOWS: Final = 16
#: Maximum of the slider for losses in a flow that has none, %.
_MAX_NEW_LOSS: Final = 10
#: Keys of the amount of jitter, by its kind.
_AMOUNTS: Final = ("max", "hold", "delay", "period", "offset", "bound")
#: Number of tables of flows in a form; those after it are edited in the text.
MAX_TABLES: Final = 24


def form_of(scenario: Scenario, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the groups of fields: the run, each link, each table of flows.

    Parameters
    ----------
    scenario : Scenario, the valid content of `document`, from which defaults are read
    document : dict, the parsed text; values are shown as they are written

    Returns
    -------
    list of dict; ``title``, ``fields``. A field has ``key`` (dotted), ``label``, ``kind`` ("quantity", "number",
    "integer", "cca", "flag", "choice", "text"), ``value``, ``is_default``, and for a slider ``slider``: ``low``,
    ``high``, ``unit``, ``is_log``
    """
    groups = [{"title": "run", "fields": list(_run_fields(scenario, document))}]
    for name, link in scenario.link.items():
        groups.append({"title": f"link {name}", "fields": list(_link_fields(name, link, document))})
    for i, flow in enumerate(scenario.flow[:MAX_TABLES]):
        title = f"flow {i + 1}: {flow.cca.label}" + (f" × {flow.count}" if flow.count > 1 else "")
        groups.append({"title": title, "fields": list(_flow_fields(i, flow, document))})
    return groups


def _run_fields(scenario: Scenario, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("duration", "warmup"):
        yield _field(key, key, "quantity", getattr(scenario, key), document)
    yield _field("seed", "seed", "integer", scenario.seed, document)
    noises = [HOST, NONE]
    field = _field("noise", "noise", "choice", scenario.noise, document)
    yield field | {"choices": noises if scenario.noise in noises else [*noises, scenario.noise]}
    if isinstance(scenario.transport, str):
        field = _field("transport", "transport", "choice", scenario.transport, document)
        yield field | {"choices": [LINUX, IDEAL]}


def _link_fields(name: str, link: Link, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    prefix = f"link.{name}"
    if link.rate is not None:
        yield _field(f"{prefix}.rate", "rate", "quantity", link.rate, document, slides=True)
    yield _field(f"{prefix}.buffer", "buffer", "quantity", link.buffer, document, slides=True)
    kinds = ["droptail", "codel"]
    aqm = link.aqm.kind
    field = _field(f"{prefix}.aqm", "queue", "choice", aqm, document)
    yield field | {"choices": kinds if aqm in kinds else [*kinds, aqm]}


def _flow_fields(i: int, flow: Flow, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    prefix = f"flow.{i}"
    yield _field(f"{prefix}.cca", "cca", "cca", flow.cca.name, document)
    known = algorithms().get(flow.cca.name)
    for name, default in (known.defaults if known else flow.cca.params).items():
        value = flow.cca.params.get(name, default)
        key = f"{prefix}.cca.{name}"
        if isinstance(value, bool):
            yield _field(key, name, "flag", value, document)
        elif isinstance(value, (int, float)):
            yield _field(key, name, "integer" if isinstance(default, int) else "number", value, document, slides=True)
        elif isinstance(value, str):
            yield _field(key, name, "quantity" if _QUANTITY.match(value) else "text", value, document, slides=True)
    yield _field(f"{prefix}.rtprop", "rtprop", "quantity", flow.rtprop, document, slides=True)
    count = _field(f"{prefix}.count", "flows", "integer", flow.count, document)
    yield count | {"slider": _range(1, max(_MAX_LINEAR_FLOWS, 2 * flow.count), "", is_log=False)}
    yield _field(f"{prefix}.start", "start", "quantity", flow.start, document)
    yield _field(f"{prefix}.initial_cwnd", "initial cwnd", "quantity", flow.initial_cwnd, document, slides=True)
    yield from _jitter(f"{prefix}.jitter", flow, document)
    yield from _loss(f"{prefix}.loss", flow, document)


def _jitter(key: str, flow: Flow, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the slider of the amount of jitter; at 0 there is none, and above it the jitter is uniform if it is new."""
    if len(flow.jitter) > 1:
        return
    field = _field(key, "jitter", "quantity", "0ms", document)
    if not flow.jitter:
        yield field | {"template": {"kind": "uniform"}, "amount": "max", "slider": _range(0, 40, "ms", is_log=False)}
        return
    jitter = flow.jitter[0]
    amount = next((name for name in _AMOUNTS if hasattr(jitter, name)), None)
    if amount is not None:
        value = getattr(jitter, amount)
        yield _field(f"{key}.{amount}", f"jitter, {jitter.kind}: {amount}", "quantity", value, document, slides=True)


def _loss(key: str, flow: Flow, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the slider of independent random losses."""
    value = "0%"
    for loss in flow.loss:
        if len(flow.loss) > 1 or loss.kind != "iid":
            return
        value = loss.probability
    if _is_written(document, f"{key}.probability"):
        key = f"{key}.probability"
    slider = _slider(value) or _range(0, _MAX_NEW_LOSS, "%", is_log=False)
    yield _field(key, "random loss", "quantity", value, document) | {"slider": slider}


def _field(
    key: str, label: str, kind: str, value: Any, document: Mapping[str, Any], *, slides: bool = False
) -> dict[str, Any]:
    field = {"key": key, "label": label, "kind": kind, "value": value, "is_default": not _is_written(document, key)}
    if slides and (found := _slider(value)) is not None:
        field["slider"] = found
    return field


def _slider(value: Any) -> dict[str, Any] | None:
    if isinstance(value, (int, float)):
        return _range(value / _SPAN, value * _SPAN, "", is_log=True) if value > 0 else None
    written = _QUANTITY.match(str(value))
    if written is None or float(written[1]) == 0.0:
        return None
    number = float(written[1])
    return _range(number / _SPAN, number * _SPAN, written[2], is_log=True)


def _range(low: float, high: float, unit: str, *, is_log: bool) -> dict[str, Any]:
    return {"low": low, "high": high, "unit": unit, "is_log": is_log}


def _is_written(document: Mapping[str, Any], key: str) -> bool:
    here: Any = document
    for part in key.split("."):
        if isinstance(here, Mapping) and part in here:
            here = here[part]
        elif isinstance(here, list) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        else:
            return False
    return True
