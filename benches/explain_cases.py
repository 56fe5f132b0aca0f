"""The captures for ``benches/explain_truth.py``: runs over known links, captured at different places.

Case n of a design is reproducible: a generator whose seed is the design and n draws kind, controllers, rates and times.
In the first design, which has no name, thresholds were developed with the cases with even numbers. The cases with odd
numbers were held out, but their errors were inspected. All cases of every other design are held out.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fairweir.play.run import World, run
from fairweir.play.simulate import Capture, Side
from fairweir.scenario.model import Scenario

#: Controllers in the simulator, and controllers in the kernel.
SIMULATED: Final = (
    *("reno", "cubic", "bbr", "copa", "vegas", "bbr3", "frcc"),
    *("highspeed", "fast", "ledbat", "pcc_vivace", "swift", "tfrc", "multcp"),
)
ON_KERNEL: Final = ("cubic", "reno", "bbr", "copa", "vegas", "cubic", "bbr")
#: Kinds of cases: behavior of the link, or other flows. In ``hidden``, the capture has only one of several flows.
KINDS: Final = (
    *("alone", "shared", "steps", "arrivals", "shaper", "hidden"),
    *("policer", "shared", "steps", "arrivals", "jitter", "app"),
)
KERNEL_KINDS: Final = ("alone", "shared", "steps", "arrivals", "policer", "shaper", "hidden")
#: Places of captures: ``path`` is before the bottleneck, ``behind`` is between the bottleneck and the receiver.
PLACES: Final = ("sender", "sender", "receiver", "sender", "path", "sender", "behind")
#: Magic number, version, version, zone, accuracy, snaplen, link type.
FILE_HEADER: Final = 24
RECORD_HEADER: Final = 16
SYN, ACK = 2, 16
#: One-way delay between the host and a capture on the path, ns; less than the propagation delay of each case.
MOVED_NS: Final = 3_000_000


@dataclass(frozen=True)
class Case:
    """A capture and its true properties.

    Attributes
    ----------
    toml : str, the scenario
    place : place of the capture, one of `PLACES`
    is_hidden : whether the capture has only the first flow
    rates : list of (time in s, rate of the shared link from then on in Mbit/s)
    shaper_mbps, policer_mbps : float; None if there is none
    rtprop_ms : float, rtprop of the first flow
    duration_s : float
    """

    number: int
    world: World
    kind: str
    place: str
    is_hidden: bool
    toml: str
    rates: list[tuple[float, float]]
    shaper_mbps: float | None
    policer_mbps: float | None
    rtprop_ms: float
    duration_s: float

    @property
    def name(self) -> str:
        """Name of the case's files."""
        return f"{self.world}-{self.number:04}"

    @property
    def changes_s(self) -> list[float]:
        """Times of changes of the link's rate."""
        return [at for at, _ in self.rates[1:]]


def case(world: World, number: int, design: str = "") -> Case:
    """Return case `number` of a world and a design."""
    chance = random.Random(f"{design} {world} {number}".lstrip())  # noqa: S311 - the same cases every time
    kinds, ccas = (KINDS, SIMULATED) if world == "sim" else (KERNEL_KINDS, ON_KERNEL)
    # The last bit of the number separates development and held-out cases; both have all kinds.
    kind = kinds[(number // 2) % len(kinds)]
    place = PLACES[(number // 2 // len(kinds)) % len(PLACES)] if kind != "hidden" else "sender"
    duration = 12.0 if world == "sim" else 7.0
    rate = (4 if world == "sim" else 5) * (15 if world == "sim" else 8) ** chance.random()
    rtprop = 12 * 8 ** chance.random()
    many = {"shared": 2 + number % 7, "arrivals": 2 + number % 5, "hidden": 2 + number % 3, "steps": 1 + number % 3}
    link, rates = _link(kind, rate, rtprop, duration, chance)
    flows = [
        _flow(world, kind, i, chance.choice(ccas), rate, rtprop, duration, chance) for i in range(many.get(kind, 1))
    ]
    toml = (
        f'name = "{world}-{number}"\nduration = "{duration}s"\nwarmup = "1s"\nseed = {number + 1}\n'
        f"link.bottleneck = {{ {link} }}\n" + "\n".join(flows) + "\n"
    )
    shaper, policer = (rate if kind == name else None for name in ("shaper", "policer"))
    return Case(number, world, kind, place, kind == "hidden", toml, rates, shaper, policer, rtprop, duration)


def _link(
    kind: str, rate: float, rtprop: float, duration: float, chance: random.Random
) -> tuple[str, list[tuple[float, float]]]:
    """Return a link as TOML, and its rates over time (s, Mbit/s)."""
    buffer = 0.7 * 5 ** chance.random()
    rates = [(0.0, rate)]
    if kind == "steps":
        for part in (1, 2):
            factor = chance.choice((0.4, 0.55, 0.7, 1.45, 1.8, 2.5))
            rates.append((duration * part / 3 + chance.random(), max(2.0, rates[-1][1] * factor)))
        steps = ", ".join(f'["{at:.3f}s", "{mbps:.3f}Mbps"]' for at, mbps in rates)
        return f'steps = [{steps}], buffer = "{buffer:.2f}bdp"', rates
    if kind == "shaper":
        burst = chance.uniform(1.5, 5) * max(rate * rtprop / 8, 20.0)
        shaper = f'{{ rate = "{rate:.3f}Mbps", burst = "{burst:.0f}kB" }}'
        return f'shaper = {shaper}, buffer = "{max(buffer, 1.2):.2f}bdp"', rates
    if kind == "policer":
        faster = round(rate * chance.uniform(2, 4), 3)
        return f'rate = "{faster:.3f}Mbps", buffer = "2bdp"', [(0.0, faster)]
    return f'rate = "{rate:.3f}Mbps", buffer = "{buffer:.2f}bdp"', rates


def _flow(
    world: World,
    kind: str,
    i: int,
    cca: str,
    rate: float,
    rtprop: float,
    duration: float,
    chance: random.Random,
) -> str:
    """Return flow `i` of a case as TOML."""
    lines = [f'cca = "{cca}"', f'rtprop = "{rtprop if i == 0 else 12 * 8 ** chance.random():.2f}ms"']
    if kind in ("arrivals", "hidden") and i:
        start = chance.uniform(0.25, 0.6) * duration
        lines.append(f'start = "{start:.3f}s"')
        if chance.random() < 0.5:
            lines.append(f'stop = "{min(duration, start + chance.uniform(0.15, 0.3) * duration):.3f}s"')
    elif i:
        lines.append(f'start = "{chance.uniform(0, 0.3):.3f}s"')
    if kind in ("arrivals", "hidden", "shared") and i and chance.random() < 0.2:
        lines.append(f'app_rate = "{rate * chance.uniform(0.1, 0.5):.3f}Mbps"')
    if kind == "app":
        lines.append(f'app_rate = "{rate * chance.uniform(0.2, 0.7):.3f}Mbps"')
    if kind == "policer":
        burst = chance.uniform(0.5, 2) * rate * rtprop / 8 + 30
        lines.append(f'policer = {{ rate = "{rate:.3f}Mbps", burst = "{burst:.0f}kB" }}')
    if kind == "jitter":
        shape = chance.choice(('{ kind = "uniform", max = "%s" }', '{ kind = "ack-aggregation", hold = "%s" }'))
        lines.append(f"jitter = {shape % chance.choice(('1ms', '3ms', '8ms'))}")
    if world == "sim" and chance.random() < 0.5:
        lines.append("delayed_ack = 2")
    return "[[flow]]\n" + "\n".join(lines)


def play(one: Case, directory: Path) -> Path:
    """Write a case's capture to a directory unless it exists, so that an interrupted measurement resumes."""
    target = directory / f"{one.name}.pcap"
    if target.exists():
        return target
    scenario = directory / f"{one.name}.toml"
    scenario.write_text(one.toml, encoding="utf-8")
    side: Side = "receiver" if one.place in ("receiver", "behind") else "sender"
    whole = directory / f"{one.name}.whole.pcap"
    run(Scenario.load(scenario), on=one.world, capture=Capture(whole, side))
    whole.write_bytes(seen_elsewhere(whole.read_bytes(), one))
    whole.rename(target)
    return target


def seen_elsewhere(data: bytes, one: Case) -> bytes:
    """Return a host's capture as if taken at the place of the case, with only the first flow if the others are hidden.

    If there is no queue between two places, packets pass both at the same intervals, only earlier or later.
    """
    towards_ns = {"path": MOVED_NS, "behind": -MOVED_NS}.get(one.place, 0)
    records, senders, first, at = [], set(), None, FILE_HEADER
    while at < len(data):
        seconds, ns, kept, _ = struct.unpack_from("<IIII", data, at)
        end = at + RECORD_HEADER + kept
        packet = data[at + RECORD_HEADER : end]
        ports = (packet[0] & 15) * 4
        src = (packet[12:16], packet[ports : ports + 2])
        dst = (packet[16:20], packet[ports + 2 : ports + 4])
        if packet[ports + 13] & (SYN | ACK) == SYN:
            senders.add(src)
        first = first or {src, dst}
        if not one.is_hidden or {src, dst} == first:
            time = seconds * 10**9 + ns + (towards_ns if src in senders else -towards_ns)
            records.append((time, struct.pack("<II", *divmod(time, 10**9)) + data[at + 8 : end]))
        at = end
    records.sort(key=lambda record: record[0])
    return data[:FILE_HEADER] + b"".join(record for _, record in records)
