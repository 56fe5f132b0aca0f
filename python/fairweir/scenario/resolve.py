"""Convert a validated scenario to the simulator's configuration.

The configuration has base units (ns, bytes, bytes/s). All defaults are filled in, and sizes such as "1.5bdp" are
computed. rtprop is a flow's round-trip propagation delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fairweir import _core
from fairweir.ccas import lookup
from fairweir.errors import CcaError, ConfigError
from fairweir.scenario.elements import Element, Surroundings
from fairweir.scenario.transport import Mechanism, mechanisms
from fairweir.units import NS_PER_S

if TYPE_CHECKING:
    from fairweir.scenario.model import Flow, Scenario


#: Values of the key `noise`: the hosts' noise, and none.
HOST: Final = "host"
NONE: Final = "none"
#: Maximum time that the hosts of a flow take for a data packet and its ACK, beyond the minimum, ns;
#: docs/measured/host.md has the measured distribution.
HOST_PROCESSING_NS: Final = 100_000
#: Keys of a flow that describe simulated hosts; :func:`of_real_hosts` has the exception.
SIMULATED_HOSTS: Final = ("processing", "transport")


def resolve(scenario: Scenario) -> dict[str, Any]:
    """Return `scenario` in the format of ``fairweir_scenario::Config``.

    For a link, a BDP is the link's nominal rate times the largest rtprop of the flows whose data or ACKs cross the
    link. For a flow, a BDP is the smallest nominal rate of the links on its path times the flow's rtprop.

    Raises
    ------
    ConfigError : a trace cannot be read, or delays on a path exceed a flow's rtprop
    CcaError : a CCA does not exist or cannot be loaded
    """
    packet = _core.parse_bytes(scenario.packet)
    names = list(scenario.link)
    bases = {name: link.base(scenario.base) for name, link in scenario.link.items()}
    rates = {name: link.nominal_rate(bases[name]) for name, link in scenario.link.items()}
    host = {}
    if scenario.host is not None:
        host = {"host": {"wake": _core.parse_time(scenario.host.wake), "crypto": scenario.host.crypto}}
    return {
        **host,
        "duration": _core.parse_time(scenario.duration),
        "warmup": _core.parse_time(scenario.warmup),
        "seed": scenario.seed,
        "packet": packet,
        "ack": _core.parse_bytes(scenario.ack),
        "links": [_link(scenario, name, bases[name], rates[name], packet) for name in names],
        "flows": [
            spec
            for i, ids in enumerate(flow_ids(scenario.flow))
            for spec in _flows(scenario, i, ids, names, rates, packet)
        ],
    }


def of_real_hosts(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resolved flow without what describes simulated hosts only.

    Real hosts have all mechanisms of Linux's TCP. The kernel world's receivers advertise unlimited windows, however,
    unless the flow has `autotuning`; a flow with a window of its own is limited by this window.
    """
    real = {key: value for key, value in flow.items() if key not in SIMULATED_HOSTS}
    is_autotuned = Mechanism.AUTOTUNING in flow["transport"] and flow["rwnd"] is None
    return {**real, "transport": [Mechanism.AUTOTUNING.value]} if is_autotuned else real


def flow_ids(flows: Sequence[Flow]) -> list[list[str]]:
    """Return, for each table of flows, the ids of its flows.

    A flow's id is the id in the table, with a number if `count` is above 1; without an id in the table, it is the CCA's
    name with a number.
    """
    found, number = [], 1
    for flow in flows:
        own = flow.id
        if own is None:
            found.append([f"{flow.cca.label}-{number + k}" for k in range(flow.count)])
        else:
            found.append([own] if flow.count == 1 else [f"{own}-{k + 1}" for k in range(flow.count)])
        number += flow.count
    return found


def _passes(flow: Flow, name: str) -> bool:
    return flow.path is None or name in flow.path or name in flow.ack_path


def _link(scenario: Scenario, name: str, base: dict[str, Any], rate: int, packet: int) -> dict[str, Any]:
    link = scenario.link[name]
    rtprop = max((_core.parse_time(flow.rtprop) for flow in scenario.flow if _passes(flow, name)), default=0)
    bdp = rate * rtprop // NS_PER_S
    limit = Surroundings(packet, bdp, rate, rtprop).size(link.buffer)
    hop = {"link": base, "queue": link.aqm.base(limit, packet, bdp, rate)}
    return {"name": name, "hop": hop, "delay": _core.parse_time(link.delay)}


def _flows(
    scenario: Scenario, index: int, ids: list[str], names: list[str], rates: dict[str, int], packet: int
) -> list[dict[str, Any]]:
    flow = scenario.flow[index]
    path = names if flow.path is None else flow.path
    rtprop = _core.parse_time(flow.rtprop)
    rate = min(rates[name] for name in path)
    propagation = _propagation(scenario, index, path, rtprop)
    cx = Surroundings(packet, rate * rtprop // NS_PER_S, rate, rtprop)
    data_cx = replace(cx, base_ns=propagation.there)
    acks_cx = replace(cx, base_ns=propagation.there + propagation.before_acks, side="acks")
    data_side = [element for element in flow.jitter if element.side == "data"]
    acks_side = [element for element in flow.jitter if element.side == "acks"]
    spec = {
        "cca": _cca_name(scenario, index),
        "params": flow.cca.params or None,
        "path": [names.index(name) for name in path],
        "ack_path": [names.index(name) for name in flow.ack_path],
        "ingress": _ingress(flow, cx),
        "forward_delay": propagation.after_path,
        "egress": _bases(data_side, data_cx),
        "reverse_delay": propagation.before_acks,
        "reverse": _bases([*acks_side, *flow.ack_jitter, *flow.ack_loss], acks_cx),
        "stop": _core.parse_time(flow.stop) if flow.stop else None,
        "source": _source(flow),
        "initial_cwnd": _packets(flow.initial_cwnd, cx),
        "receiver": {
            "ack_every": flow.delayed_ack.every,
            "ack_timer": _core.parse_time(flow.delayed_ack.timer),
            "sack": flow.sack,
        },
        "ecn": flow.ecn,
        "gso": flow.gso,
        "rwnd": _packets(flow.rwnd, cx) if flow.rwnd else None,
        "processing": _processing(scenario.noise, packet, rate),
        "transport": mechanisms(scenario.transport),
        "min_rto": _core.parse_time(flow.min_rto),
        "oracle_rtprop": rtprop if flow.oracle_rtprop else None,
        "rtprop": rtprop,
    }
    start, stagger = _core.parse_time(flow.start), _core.parse_time(flow.stagger)
    return [{"id": flow_id, "start": start + k * stagger, **spec} for k, flow_id in enumerate(ids)]


def _processing(noise: str, packet: int, rate: int) -> int:
    """Return the maximum processing time of an ACK, ns: that of a host, but not above a packet's transmission time at
    the slowest link, which suffices against phase effects (Floyd and Jacobson, 1992); or the time that `noise` is.
    """
    if noise == NONE:
        return 0
    if noise == HOST:
        return min(HOST_PROCESSING_NS, packet * NS_PER_S // rate)
    return _core.parse_time(noise)


def _bases(elements: Sequence[Element], cx: Surroundings) -> list[dict[str, Any]]:
    return [element.base(cx) for element in elements]


def _cca_name(scenario: Scenario, index: int) -> str:
    name = scenario.flow[index].cca.name
    try:
        lookup.check(name, base=scenario.base)
    except CcaError as error:
        error.source, error.key = error.source or scenario.source, error.key or f"flow.{index}.cca"
        raise
    if lookup.is_bpf_source(name) or lookup.is_rule(name):
        return str(lookup.kernel_c(name, base=scenario.base))
    is_file = lookup.is_controller_file(name) or lookup.is_plugin(name)
    return str(lookup.locate(name, base=scenario.base)) if is_file else name


def _ingress(flow: Flow, cx: Surroundings) -> list[dict[str, Any]]:
    elements = _bases(list(flow.loss), cx)
    if flow.policer is not None:
        elements.append(flow.policer.base(cx))
    if flow.access is not None:
        elements += flow.access.elements(cx)
    return elements


def _packets(size: str, cx: Surroundings) -> int:
    """Return the size that a text means as a number of whole packets, at least 1."""
    return max(1, (cx.size(size) or 0) // cx.packet_bytes)


def _source(flow: Flow) -> dict[str, Any]:
    if flow.bytes is not None:
        return {"kind": "finite", "bytes": _core.parse_bytes(flow.bytes)}
    if flow.app_rate is not None:
        return {"kind": "rate", "rate": _core.parse_rate(flow.app_rate)}
    if flow.on_off is not None:
        return {"kind": "on-off", "on": _core.parse_time(flow.on_off.on), "off": _core.parse_time(flow.on_off.off)}
    return {"kind": "bulk"}


@dataclass(frozen=True)
class Propagation:
    """The round-trip propagation delay of a flow, divided into parts, ns.

    Attributes
    ----------
    there : the part on the data path, from sender to receiver
    after_path : the part of `there` after the last link's queue
    before_acks : the part on the ACK path before the first link of `ack_path`; if `ack_path` is empty, the whole ACK
        path
    """

    there: int
    after_path: int
    before_acks: int


def _propagation(scenario: Scenario, index: int, path: list[str], rtprop: int) -> Propagation:
    """Divide `rtprop` between the data path and the ACK path.

    Each gets half, unless the delays of links and access links on one of them need more.

    Raises
    ------
    ConfigError : the delays of the links exceed `rtprop`
    """
    flow = scenario.flow[index]
    access = _core.parse_time(flow.access.delay) if flow.access is not None else 0
    on_path = [_core.parse_time(scenario.link[name].delay) for name in path]
    on_ack_path = [_core.parse_time(scenario.link[name].delay) for name in flow.ack_path]
    least = access + sum(on_path)
    if least + sum(on_ack_path) > rtprop:
        raise ConfigError(
            f"flow rtprop is shorter than the delays on its path: `{flow.rtprop}`",
            hint=f"they add up to {_core.format_time(least + sum(on_ack_path))}; rtprop is the round-trip delay",
            source=scenario.source,
            key=f"flow.{index}.rtprop",
        )
    there = min(max(rtprop // 2, least), rtprop - sum(on_ack_path))
    return Propagation(there, there - access - sum(on_path[:-1]), rtprop - there - sum(on_ack_path[:-1]))
