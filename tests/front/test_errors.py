"""Every error in a scenario has one message: what failed, the value, where, and a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.scenario.overrides import apply

TOO_DEEP = "error: tables are nested more than 32 deep (x.toml)\n\nhint: docs/scenarios.md lists all keys"
TOO_LARGE = (
    "error: larger than 4 MiB, the limit (x.toml)\n\n"
    "hint: write flows of one kind as one table with a count, and put a link's trace in its own file"
)

GOOD: dict[str, Any] = {
    "name": "good",
    "duration": "10s",
    "link": {"bottleneck": {"rate": "24Mbps"}},
    "flow": [{"cca": "reno", "rtprop": "20ms"}],
}

#: Changes, and the resulting output.
BAD: list[tuple[dict[str, Any], str]] = [
    # rates
    (
        {"link.bottleneck.rate": "0Mbps"},
        "error: link rate must be positive: `0Mbps` (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": 24},
        "error: link rate has no unit: `24` (x.toml: link.bottleneck.rate)\n\n"
        'hint: write it with its unit and in quotes: "96Mbps"',
    ),
    (
        {"link.bottleneck.rate": "24"},
        "error: rate `24` has no unit (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": "24mbps"},
        "error: rate `24mbps` has an unknown unit `mbps` (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": "40ms"},
        "error: rate `40ms` has an unknown unit `ms` (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": "-3Mbps"},
        "error: rate `-3Mbps` is not a non-negative decimal number with a unit (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": "900Tbps"},
        "error: link rate must be at most 100Tbps: `900Tbps` (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": "1bps"},
        "error: link rate must be positive: `1bps` (x.toml: link.bottleneck.rate)\n\n"
        'hint: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"',
    ),
    (
        {"link.bottleneck.rate": True},
        'error: link rate must be a text with a unit: `true` (x.toml: link.bottleneck.rate)\n\nhint: write "96Mbps"',
    ),
    (
        {"link.bottleneck": {"buffer": "1bdp"}},
        'error: link has no rate (x.toml: link.bottleneck)\n\nhint: write rate = "96Mbps" (or trace, steps, shaper)',
    ),
    (
        {"link.bottleneck.trace": "a.up"},
        "error: link has more than one speed: `rate`, `trace` (x.toml: link.bottleneck)\n\nhint: keep one of them",
    ),
    (
        {"link.bottleneck": {"steps": [["5s", "1Mbps"]]}},
        "error: link's first step must be at 0s: `5s` (x.toml: link.bottleneck)\n\n"
        'hint: write steps = [["0s", "24Mbps"], ...]',
    ),
    (
        {"link.bottleneck": {"steps": [["0s", "1Mbps"], ["0s", "2Mbps"]]}},
        "error: link's steps must be in order of time: `0s` (x.toml: link.bottleneck)",
    ),
    (
        {"link.bottleneck": {"steps": [["0s", "1Mbps"], "5s"]}},
        'error: link steps must be pairs: `5s` (x.toml: link.bottleneck.steps.1)\n\nhint: write ["10s", ...]',
    ),
    # sizes
    (
        {"link.bottleneck.buffer": "0B"},
        "error: link buffer must be positive: `0B` (x.toml: link.bottleneck.buffer)\n\n"
        'hint: write a size: "1bdp", "64KiB", "512pkts" or "infinite"',
    ),
    (
        {"link.bottleneck.buffer": "10"},
        "error: size `10` has no unit (x.toml: link.bottleneck.buffer)\n\n"
        'hint: write a size with its unit: "64KiB", "1500B", "512pkts", "1.5bdp" or "infinite"',
    ),
    (
        {"packet": "9MB"},
        'error: packet must be at most 65535B: `9MB` (x.toml: packet)\n\nhint: write "1500B"',
    ),
    # times
    (
        {"duration": "0s"},
        "error: duration must be positive: `0s` (x.toml: duration)\n\n"
        'hint: write a time with its unit: "40ms", "12us", "300s"',
    ),
    (
        {"flow.0.rtprop": "2h"},
        "error: flow rtprop must be at most 1h: `2h` (x.toml: flow.0.rtprop)\n\n"
        'hint: write a time with its unit: "40ms", "12us", "300s"',
    ),
    (
        {"flow.0.rtprop": 20.5},
        "error: flow rtprop has no unit: `20.5` (x.toml: flow.0.rtprop)\n\n"
        'hint: write it with its unit and in quotes: "40ms"',
    ),
    (
        {"warmup": "10s"},
        "error: warmup is not shorter than the duration: `10s` (x.toml: warmup)\n\n"
        "hint: nothing would be measured: make it shorter than the duration, 10s",
    ),
    (
        {"flow.0.start": "10s"},
        "error: flow never starts: it would at: `10s` (x.toml: flow.0.start)\n\n"
        "hint: start it before the end, 10s, or make the duration longer",
    ),
    (
        {"flow.0.count": 9, "flow.0.stagger": "2s"},
        "error: flow never starts: it would at: `16s` (x.toml: flow.0.stagger)\n\n"
        "hint: start it before the end, 10s, or make the duration longer",
    ),
    (
        {"flow.0.start": "5s", "flow.0.stop": "4s"},
        "error: flow stops before it starts: `4s` (x.toml: flow.0)\n\nhint: it starts at 5s",
    ),
    (
        {"flow.0.count": 3, "flow.0.stagger": "2s", "flow.0.stop": "4s"},
        "error: flow stops before it starts: `4s` (x.toml: flow.0)\n\nhint: it starts at 4s",
    ),
    # keys
    (
        {"link.bottleneck.rat": "24Mbps"},
        "error: unknown key `rat` (x.toml: link.bottleneck.rat)\n\nhint: did you mean `rate`?",
    ),
    ({"duratoin": "24s"}, "error: unknown key `duratoin` (x.toml: duratoin)\n\nhint: did you mean `duration`?"),
    (
        {"flow.0.access": {"rate": "1Gbps", "dealy": "1ms"}},
        "error: unknown key `dealy` (x.toml: flow.0.access.dealy)\n\nhint: did you mean `delay`?",
    ),
    (
        {"flow.0.jitter": {"kind": "uniform", "maximum": "1ms"}},
        "error: unknown key `maximum` (x.toml: flow.0.jitter.maximum)\n\nhint: did you mean `max`?\n\n"
        'error: jitter max is missing (x.toml: flow.0.jitter.max)\n\nhint: write max = "20ms"',
    ),
    (
        {"flow.0": {"cca": "reno"}},
        'error: flow rtprop is missing (x.toml: flow.0.rtprop)\n\nhint: write rtprop = "40ms"',
    ),
    ({"flow": []}, "error: flow has the wrong length: `[]` (x.toml: flow)"),
    ({"flow": "reno"}, "error: flow must be a list: `reno` (x.toml: flow)"),
    ({"link": 3}, "error: link must be a table: `3` (x.toml: link)"),
    # kinds
    (
        {"flow.0.jitter": {"kind": "unifrom", "max": "1ms"}},
        "error: flow jitter has an unknown kind: `unifrom` (x.toml: flow.0.jitter.kind)\n\n"
        "hint: did you mean `uniform`?",
    ),
    (
        {"flow.0.jitter": {"max": "1ms"}},
        'error: flow jitter needs a kind (x.toml: flow.0.jitter)\n\nhint: write it as { kind = "...", ... }',
    ),
    (
        {"link.bottleneck.aqm": "coddle"},
        "error: link aqm has an unknown kind: `coddle` (x.toml: link.bottleneck.aqm.kind)\n\n"
        "hint: did you mean `codel`?",
    ),
    (
        {"link.bottleneck.aqm": {"kind": "red", "min": "20pkts", "max": "10pkts"}},
        "error: link aqm's min is not below its max: `20pkts` (x.toml: link.bottleneck.aqm)\n\n"
        "hint: use a value below 10pkts",
    ),
    # shares
    (
        {"flow.0.loss": "0.02"},
        "error: fraction `0.02` is not a percentage (x.toml: flow.0.loss)\n\n"
        'hint: write it with a percent sign: "2%", "0.01%"',
    ),
    (
        {"flow.0.loss": "150%"},
        'error: fraction `150%` exceeds 100 % (x.toml: flow.0.loss)\n\nhint: write at most "100%"',
    ),
    (
        {"flow.0.loss": 2},
        'error: flow loss has no unit: `2` (x.toml: flow.0.loss)\n\nhint: write it with its unit and in quotes: "2%"',
    ),
    # paths
    (
        {"flow.0.path": ["bottleneck", "b"]},
        "error: no link: `b` (x.toml: flow.0.path)\n\nhint: links are bottleneck",
    ),
    (
        {"flow.0.path": []},
        'error: flow path is empty (x.toml: flow.0.path)\n\nhint: write path = ["bottleneck"]',
    ),
    (
        {"link.second": {"rate": "1Mbps"}},
        "error: flow path is missing (x.toml: flow.0.path)\n\n"
        'hint: with several links write path = ["bottleneck", ...]',
    ),
    (
        {"flow.0.path": ["bottleneck", "bottleneck"]},
        "error: flow path passes a link twice: `bottleneck` (x.toml: flow.0.path)\n\nhint: name each link once",
    ),
    # the rest
    (
        {"flow.0.bytes": "1MB", "flow.0.app_rate": "1Mbps"},
        "error: flow has more than one source: `bytes`, `app_rate` (x.toml: flow.0)\n\nhint: keep one of them",
    ),
    ({"flow.0.count": 0}, "error: flow count must be at least 1: `0` (x.toml: flow.0.count)"),
    ({"flow.0.count": 2.5}, "error: flow count must be a whole number: `2.5` (x.toml: flow.0.count)"),
    ({"flow.0.sack": "yes"}, "error: flow sack must be true or false: `yes` (x.toml: flow.0.sack)"),
    ({"seed": -1}, "error: seed must be at least 0: `-1` (x.toml: seed)"),
    (
        {"flow": [{"cca": "reno", "rtprop": "1ms", "id": "a"}, {"cca": "reno", "rtprop": "1ms", "id": "a"}]},
        "error: two flows have one id: `a` (x.toml: flow)\n\nhint: give each its own, or leave them out",
    ),
    (
        {"flow.0.cca": {"gain": 2}},
        'error: cca name is missing (x.toml: flow.0.cca.name)\n\nhint: write name = "bbr"',
    ),
    # errors of the whole scenario
    (
        {"link.bottleneck.delay": "30ms"},
        "error: flow rtprop is shorter than the delays on its path: `20ms` (x.toml: flow.0.rtprop)\n\n"
        "hint: they add up to 30ms; rtprop is the round-trip delay",
    ),
    (
        {"flow.0.cca": "ren0"},
        "error: no congestion controller `ren0` (x.toml: flow.0.cca)\n\nhint: did you mean `reno`?",
    ),
    (
        {"flow.0.cca": "missing.py:Mine"},
        "error: no such file: `missing.py` (x.toml: flow.0.cca)\n\nhint: write the path relative to the working "
        "directory",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=lambda value: str(value)[:50])
def test_message(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Scenario.from_dict(apply(GOOD, changes), source="x.toml").resolve()
    assert caught.value.render() == message


def test_the_input_of_the_error_cases_is_valid() -> None:
    assert Scenario.from_dict(GOOD).resolve()["duration"] == 10_000_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rate = 96Mbps",
            "error: not TOML: expected newline or end of document after a statement (at line 1, column 10) (x.toml)",
        ),
        ("= 3", "error: not TOML: invalid statement (at line 1, column 1) (x.toml)"),
        ("a = " + "[" * 3000, "error: not TOML: nested too deeply (x.toml)"),
        # The parser would take quadratic time for the first two, so they are rejected before parsing.
        ("[" + "a." * 100_000 + "a]", TOO_DEEP),
        ("b = {" + "a . 'x'.\t\"y\"." * 90 + "a = 1}", TOO_DEEP),
        ("a = " + "[" * 33 + "]" * 33, TOO_DEEP),
        ("\n".join(["[" + "a." * 30 + "a]", "b.c = {d.e = 1}"]), TOO_DEEP),
        ("#" * (4 << 20) + "\n", TOO_LARGE),
    ],
)
def test_text_that_is_not_toml(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Scenario.from_toml(text, source="x.toml")
    assert caught.value.render() == message


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="scenario cannot be read: no such file or directory"):
        Scenario.load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="scenario cannot be read: is a directory"):
        Scenario.load(tmp_path)
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="scenario is not a text file"):
        Scenario.load(binary)
    with pytest.raises(
        ConfigError, match="larger than 4 MiB"
    ):  # the file has no end, so it must not be read to the end
        Scenario.load("/dev/zero")


def test_tables_of_flows_are_limited_as_their_counts_are() -> None:
    with pytest.raises(ConfigError) as caught:
        Scenario.from_dict({**GOOD, "flow": GOOD["flow"] * 100_001}, source="x.toml")
    assert caught.value.render() == (
        "error: more than 100000 flows: `100001` tables (x.toml: flow)\n\n"
        "hint: write several flows of one kind as one table: count = 2"
    )


@pytest.mark.parametrize(
    "text",
    [
        "description = 'a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z. 1.2.3.4.5.6.7.8'",
        'description = """\n' + "." * 80 + '\n"""',
        "seed = 3 # 1. 2. 3. " + "no. " * 31,
        "[" + "a." * 31 + "a]",
    ],
)
def test_a_shallow_document_that_looks_deep_is_read(text: str) -> None:
    with pytest.raises(ConfigError) as caught:  # it is TOML but not a scenario
        Scenario.from_toml(text, source="x.toml")
    assert "missing" in caught.value.render()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1\n2\nx\n", "line 3: `x` is not a whole number of milliseconds (cell.up)"),
        ("5\n3\n", "line 2: 3 ms comes after 5 ms: times must not decrease (cell.up)"),
        ("", "the trace has no time after 0 ms, so it has no length to repeat (cell.up)"),
    ],
)
def test_trace_with_garbage(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "cell.up").write_text(lines)
    document = apply(GOOD, {"link.bottleneck": {"trace": "cell.up"}})
    with pytest.raises(ConfigError) as caught:
        Scenario.from_dict(document, base=tmp_path).resolve()
    assert str(caught.value) == message


def test_trace_that_is_missing_or_not_text(tmp_path: Path) -> None:
    (tmp_path / "binary.up").write_bytes(b"\xff\x00")
    for name, message in (("none.up", "trace cannot be read: no such file"), ("binary.up", "trace is not a text file")):
        document = apply(GOOD, {"link.bottleneck": {"trace": name}})
        with pytest.raises(ConfigError, match=message):
            Scenario.from_dict(document, base=tmp_path).resolve()


def test_all_errors_of_a_file_are_reported_with_the_misspelt_key_first() -> None:
    with pytest.raises(ConfigError) as caught:
        Scenario.from_dict(apply(GOOD, {"link.bottleneck": {"rte": "3Mbps"}, "flow.0.rtprop": "3"}), source="x.toml")
    reported = caught.value.render().split("\n\n")
    assert reported[0] == "error: unknown key `rte` (x.toml: link.bottleneck.rte)"
    assert reported[2] == "error: time `3` has no unit (x.toml: flow.0.rtprop)"
