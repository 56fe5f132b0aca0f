"""Check a certificate of starvation; this module shares only the file format with the code that writes certificates.

A certificate has the send and arrival times of the packets of two flows, each recorded alone on an ideal link, and a
jitter for each packet. The certificate claims that both records are possible together on one link, the shared link,
with this jitter, which is between 0 and D.

All arithmetic is in integers: times are multiplied by the link rate, so that the end of a transmission, which may be a
fraction of a nanosecond, is exact.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from fairweir.starvation.certificate import Alone, Certificate
from fairweir.units import NS_PER_S, Bytes, Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDING_NS = 2
"""Recorded times are whole nanoseconds, so a transmission may appear to end this much too early or too late."""

Packet = tuple[int, int, int]
"""(sent, arrived, held), ns."""


@dataclass(frozen=True)
class Finding:
    """Whether a certificate satisfies one condition of the proof.

    Attributes
    ----------
    name : str, the condition
    is_true : bool, whether the certificate satisfies the condition
    text : str, the numbers that were compared, or the first packet that violates the condition
    """

    name: str
    is_true: bool
    text: str


def check(certificate: Certificate) -> list[Finding]:
    """Return one finding for each condition of the proof (theorem 1 of the starvation paper).

    A certificate alone cannot prove that the CCA sends as recorded when the CCA observes the recorded delays;
    `fairweir.starvation.replay` shows this by running the two scenarios in the certificate.

    References
    ----------
    Starvation paper, section 4.3 step 3 and appendix A; docs/derivations.md, Packets instead of fluid
    """
    header = certificate.header
    columns = (column.tolist() for column in (certificate.flow, certificate.sent_ns, certificate.arrived_ns))
    rows = list(zip(*columns, certificate.hold_ns.tolist(), strict=True))
    flows = [[(sent, arrived, held) for flow, sent, arrived, held in rows if flow == which] for which in (0, 1)]
    slow, fast = flows
    if len(slow) + len(fast) != len(rows) or not slow or not fast:
        return [Finding("packets of two flows", False, f"{len(slow)} slow, {len(fast)} fast of {len(rows)}")]
    findings = [_in_order(name, packets, header.span_ns) for name, packets in (("slow", slow), ("fast", fast))]
    findings += [
        _on_its_link(name, packets, alone, certificate)
        for name, packets, alone in (("slow", slow, header.slow), ("fast", fast, header.fast))
    ]
    return [*findings, *_on_the_shared_link(certificate, flows), _ratio(certificate, slow, fast)]


def _in_order(name: str, packets: list[Packet], span_ns: int) -> Finding:
    """Check that a flow's packets are sent in the certificate's time span, and arrive in the order of sending."""
    what = f"{name} flow: in order"
    if packets[0][0] < 0 or packets[-1][0] >= span_ns:
        return Finding(what, False, f"sent from {packets[0][0]} to {packets[-1][0]} ns, outside [0, {span_ns}) ns")
    for before, packet in pairwise(packets):
        if packet[0] < before[0] or packet[1] < before[1]:
            return Finding(what, False, f"the packet sent at {packet[0]} ns arrives after that sent at {before[0]} ns")
    return Finding(what, True, f"{len(packets)} packets in {span_ns / NS_PER_S:g} s")


def _on_its_link(name: str, packets: list[Packet], alone: Alone, certificate: Certificate) -> Finding:
    """Check that the delays of a flow's packets are the delays on the ideal link on which the flow was recorded."""
    header, rate = certificate.header, alone.link_bytes_per_s
    what = f"{name} flow: delays of a link of {Rate.from_bytes_per_s(rate).mbps:g} Mbit/s of its own"
    transmission = header.packet_bytes * NS_PER_S
    # `free` is the time at which the link becomes free for the first packet. The queue that precedes the first packet
    # is not in the file, so `free` is computed from the arrival of the first packet.
    free = (packets[0][1] - header.one_way_ns) * rate - transmission
    early = packets[0][0] * rate - free
    if early > ROUNDING_NS * rate:
        return Finding(what, False, f"the first packet arrives {early / rate:g} ns before it can")
    for sent, arrived, _ in packets:
        free = max(free, sent * rate) + transmission
        late = (arrived - header.one_way_ns) * rate - free
        if abs(late) > ROUNDING_NS * rate:
            return Finding(what, False, f"the packet sent at {sent} ns is {late / rate:g} ns late")
    return Finding(what, True, f"all packets, to {ROUNDING_NS} ns")


def _on_the_shared_link(certificate: Certificate, flows: list[list[Packet]]) -> Iterator[Finding]:
    """Check that each packet's delay minus its delay on the shared link is the jitter in the file, between 0 and D."""
    header, rate = certificate.header, certificate.header.link_bytes_per_s
    transmission = header.packet_bytes * NS_PER_S
    free = header.backlog_bytes * NS_PER_S
    least, most, wrong = 10**30, -(10**30), 0
    for sent, arrived, held in _merged(flows):
        free = max(free, sent * rate) + transmission
        hold = (arrived - header.one_way_ns) * rate - free
        least, most = min(least, hold), max(most, hold)
        wrong += abs(hold - held * rate) > ROUNDING_NS * rate
    link = f"{Rate.from_bytes_per_s(rate).mbps:g} Mbit/s"
    lowest, highest = Duration.from_ns(least / rate), Duration.from_ns(most / rate)
    yield Finding(f"jitter on {link} is never negative", least >= 0, f"at least {lowest.ms:.4g} ms")
    bound = f"jitter on {link} is at most D = {Duration.from_ns(header.d_ns).ms:.4g} ms"
    yield Finding(bound, most <= header.d_ns * rate, f"at most {highest.ms:.4g} ms")
    yield Finding("jitter matches the certificate", wrong == 0, f"{wrong} packets differ")


def _merged(flows: list[list[Packet]]) -> Iterator[Packet]:
    by_sending: Callable[[Packet], int] = lambda packet: packet[0]  # noqa: E731
    return heapq.merge(*flows, key=by_sending)


def _ratio(certificate: Certificate, slow: list[Packet], fast: list[Packet]) -> Finding:
    """Check that the ratio of the flows' throughputs is at least the claimed ratio."""
    header = certificate.header
    sent = [Bytes(len(packets) * header.packet_bytes) for packets in (slow, fast)]
    mbps = [(data / Duration.from_ns(header.span_ns)).mbps for data in sent]
    return Finding(
        f"throughput ratio of at least {header.ratio:g}",
        len(fast) >= header.ratio * len(slow),
        f"{len(fast) / len(slow):.4g}: {mbps[1]:.4g} and {mbps[0]:.4g} Mbit/s",
    )
