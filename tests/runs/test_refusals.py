"""Errors of the simulator's parts have key, value and hint in all interfaces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.overrides import apply

MS = 1_000_000
RATE = 1_500_000
YEARS = 10 * 366 * 86_400 * 1000 * MS

PLAYABLE = dumbbell("reno", rate="12Mbps", rtprop="20ms", duration="1s").resolve()

LINK, QUEUE, ELEMENT = "links.0.hop.link", "links.0.hop.queue", "flows.0.egress"


def link(kind: str, **values: Any) -> dict[str, Any]:
    return {LINK: {"kind": kind, **values}}


def queue(kind: str, **values: Any) -> dict[str, Any]:
    return {QUEUE: {"kind": kind, **values}}


def element(kind: str, **values: Any) -> dict[str, Any]:
    return {ELEMENT: [{"kind": kind, **values}]}


def points(*at: int) -> list[dict[str, int]]:
    return [{"at": time, "delay": 0} for time in at]


#: A change of a valid configuration, and the key that is rejected.
REFUSED: list[tuple[dict[str, Any], str]] = [
    (link("constant", rate=0), "links.0.hop.link.rate"),
    (link("constant", rate=10**14), "links.0.hop.link.rate"),
    (link("steps", steps=[{"at": 5, "rate": RATE}]), "links.0.hop.link.steps.0.at"),
    (link("steps", steps=[]), "links.0.hop.link.steps"),
    (link("steps", steps=[{"at": 0, "rate": RATE}] * 2), "links.0.hop.link.steps.1.at"),
    (link("trace", opportunities=[], bytes=1504), "links.0.hop.link.opportunities"),
    (link("trace", opportunities=[0], bytes=1504), "links.0.hop.link.opportunities"),
    (link("trace", opportunities=[5, 3], bytes=1504), "links.0.hop.link.opportunities.1"),
    (link("trace", opportunities=[5], bytes=0), "links.0.hop.link.bytes"),
    (link("token-bucket", rate=RATE, burst=1 << 41), "links.0.hop.link.burst"),
    (queue("droptail", limit=0), "links.0.hop.queue.limit"),
    (queue("droptail", limit_packets=0), "links.0.hop.queue.limit_packets"),
    (queue("ecn-threshold"), "links.0.hop.queue.mark_above"),
    (queue("red", min_threshold=9000, max_threshold=3000), "links.0.hop.queue.min_threshold"),
    (
        queue("red", min_threshold=3000, max_threshold=9000, weight_per_billion=0),
        "links.0.hop.queue.weight_per_billion",
    ),
    (queue("codel", packet=1 << 17), "links.0.hop.queue.packet"),
    (queue("dualpi2", target=0), "links.0.hop.queue.target"),
    (queue("dualpi2", update=10_000), "links.0.hop.queue.update"),
    (queue("dualpi2", coupling=0), "links.0.hop.queue.coupling"),
    (element("delay", by=YEARS), "flows.0.egress.0.by"),
    (element("uniform", max=0), "flows.0.egress.0.max"),
    (element("ack-aggregation", hold=MS, rate=RATE, burst_rate=1), "flows.0.egress.0.burst_rate"),
    (element("random-aggregation", max=10, rate=RATE), "flows.0.egress.0.max"),
    (element("random-aggregation", max=1000, rate=1), "flows.0.egress.0.rate"),
    (element("periodic-release", period=MS, offset=2 * MS), "flows.0.egress.0.offset"),
    (element("early-packet", offset=MS, early=2 * MS, at=0), "flows.0.egress.0.early"),
    (element("early-packet", offset=MS), "flows.0.egress.0.at"),
    (element("early-packet", offset=MS, at=0, packet=1), "flows.0.egress.0.packet"),
    (element("early-packet", offset=MS, packet=1, every=MS), "flows.0.egress.0.every"),
    (element("early-packet", offset=MS, at=0, every_packets=1), "flows.0.egress.0.every_packets"),
    (element("early-packet", offset=MS, packet=1, every_packets=0), "flows.0.egress.0.every_packets"),
    (element("trajectory", points=points(0, MS), repeat=5), "flows.0.egress.0.repeat"),
    (element("iid-loss", per_billion=2_000_000_000), "flows.0.egress.0.per_billion"),
    (element("burst-loss", to_bad_per_billion=1, to_good_per_billion=0), "flows.0.egress.0.to_good_per_billion"),
    (element("periodic-loss", every=0), "flows.0.egress.0.every"),
    (element("periodic-loss", every=5, first=0), "flows.0.egress.0.first"),
    ({"duration": YEARS}, "duration"),
    ({"interval": 1}, "interval"),
    ({"flows.0.source": {"kind": "rate", "rate": 2**63}}, "flows.0.source.rate"),
    ({"flows.0.path": [3]}, "flows.0.path"),
]


def refusal(changes: dict[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        _core.run(json.dumps(apply(PLAYABLE, changes)))
    return caught.value


@pytest.mark.parametrize(("changes", "key"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_refusal_has_key_and_hint(changes: dict[str, Any], key: str) -> None:
    error = refusal(changes)
    assert error.key == key
    assert error.hint
    assert error.render().endswith(f"hint: {error.hint}")


def calls(source: str, name: str) -> Iterator[str]:
    """Yield the arguments of each call of `name` in Rust."""
    for found in re.finditer(re.escape(name) + r"\(", source):
        depth, quoted = 1, False
        for token in re.finditer(r'\\.|["()]', source[found.end() :], re.DOTALL):
            if token[0] == '"':
                quoted = not quoted
            elif not quoted:
                depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth == 0:
                yield source[found.end() : found.end() + token.start()]
                break


def test_every_hint_of_the_path_is_shown() -> None:
    # A hint is the last string of a call, or a constant in the file.
    text = r'"((?:[^"\\]|\\.)*)"'
    written: set[str] = set()
    for file in Path("crates/path/src").rglob("*.rs"):
        source = file.read_text().partition("#[cfg(test)]")[0]
        constants = dict(re.findall(rf"const (\w+): &str =\s*{text};", source))
        for call in calls(source, "ConfigError::new"):
            named = [constants[name] for name in re.findall(r"\b[A-Z]+\b", call) if name in constants]
            written.update(hint.replace('\\"', '"') for hint in named or re.findall(text, call)[-1:])
    shown = {refusal(changes).hint for changes, _ in REFUSED}
    assert len(written) > 20
    assert written <= shown


def test_a_capture_is_taken_at_one_of_two_sides(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`reciever`") as caught:
        _core.run(json.dumps(PLAYABLE), None, None, None, (str(tmp_path / "x.pcap"), "reciever"))
    assert caught.value.hint
    assert not (tmp_path / "x.pcap").exists()
