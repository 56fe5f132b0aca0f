"""Scenarios are converted to base units correctly, and writing and reading a scenario is lossless."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario
from fairweir.scenario.overrides import apply, parse_setting
from fairweir.units import Duration, Rate

EVERYTHING = """
name = "everything"
description = "every key once"
duration = "20s"
warmup = "5s"
seed = 7
packet = "1KB"
ack = "60B"

[link.a]
rate = "24Mbps"
buffer = "2bdp"
aqm = { kind = "red", min = "5pkts", max = "15pkts", probability = "5%", weight = "0.5%", ecn = true, gentle = true }
delay = "2ms"

[link.b]
steps = [["0s", "24Mbps"], ["5s", "0Mbps"], ["6s", "48Mbps"]]
buffer = "infinite"
aqm = "codel"

[link.c]
trace = "cell.up"
buffer = "64KiB"
aqm = { kind = "ecn-threshold", threshold = "20pkts" }

[link.up]
shaper = { rate = "1Mbps", burst = "10kB" }
buffer = "100pkts"
aqm = { kind = "dualpi2", target = "20ms", alpha = 0.1, ramp = "400us", classic_weight = "20%" }
delay = "1ms"

[[flow]]
id = "first"
cca = { name = "cubic", beta = 0.5 }
rtprop = "20ms"
path = ["a", "b", "c"]
ack_path = ["up"]
start = "100ms"
stop = "15s"
jitter = [{ kind = "uniform", max = "1ms" }, { kind = "ack-aggregation", hold = "8ms" }]
ack_jitter = { kind = "constant", delay = "1ms" }
loss = ["0.1%", { kind = "burst", enter = "0.01%", leave = "30%" }, { kind = "periodic", every = 10000 }]
ack_loss = "0.5%"
policer = { rate = "100Mbps", burst = "100kB" }
access = { rate = "100Mbps", delay = "1ms", buffer = "1bdp" }
delayed_ack = 2
ecn = true
gso = 4
initial_cwnd = "20pkts"
rwnd = "4bdp"
min_rto = "1s"
oracle_rtprop = true

[[flow]]
cca = "reno"
count = 2
stagger = "500ms"
rtprop = "10ms"
path = ["b"]
bytes = "1MB"
sack = false
delayed_ack = { every = 4, timer = "100ms" }
jitter = { kind = "virtual-link", rate = "12Mbps", bound = "10ms", after = "2s" }

[[flow]]
cca = "reno"
rtprop = "10ms"
path = ["b"]
on_off = { on = "1s", off = "500ms" }
jitter = { kind = "trajectory", points = [["0s", "0ms"], ["3s", "5ms"]], interpolation = "linear", repeat = "4s" }
ack_jitter = [{ kind = "periodic", period = "10ms" }, { kind = "early-packet", offset = "1ms", every = "5s" }]

[[flow]]
cca = "reno"
rtprop = "10ms"
path = ["b"]
app_rate = "2Mbps"
jitter = { kind = "random-aggregation", max = "5ms" }

[sweep]
seed = "1..3"
"link.a.rate" = ["12Mbps", "24Mbps"]
"""


@pytest.fixture
def everything(tmp_path: Path) -> Scenario:
    (tmp_path / "cell.up").write_text("1\n2\n2\n3\n")
    (tmp_path / "everything.toml").write_text(EVERYTHING)
    return Scenario.load(tmp_path / "everything.toml")


def test_a_scenario_with_every_key_runs(everything: Scenario) -> None:
    from fairweir.play.run import run

    summary = run(everything).summary.document
    assert [flow["id"] for flow in summary["flows"]] == ["first", "reno-2", "reno-3", "reno-4", "reno-5"]
    # The finite flows end before the warm-up does, so their results after the warm-up are 0.
    assert [flow["completion_s"] is not None for flow in summary["flows"]] == [False, True, True, False, False]
    assert all(flow["throughput_mbps"] > 0 for flow in summary["flows"] if flow["completion_s"] is None)


def test_back_to_a_file_and_in_again(everything: Scenario, tmp_path: Path) -> None:
    again = Scenario.from_toml(everything.to_toml())
    assert again.resolve() == everything.resolve()
    assert again.to_toml() == Scenario.from_toml(again.to_toml()).to_toml()
    # The trace's name no longer depends on where the file is.
    assert again.link["c"].trace == str(tmp_path / "cell.up")


def test_the_effective_document_says_the_same(everything: Scenario) -> None:
    again = Scenario.from_dict(everything.to_dict(), base=everything.base)
    assert again.resolve() == everything.resolve()
    assert again.to_dict() == everything.to_dict()


@pytest.mark.parametrize("group", ["element", "link", "queue"])
def test_scenarios_reach_every_part_that_the_simulator_has(everything: Scenario, group: str) -> None:
    known: dict[str, set[str]] = {}
    for kind, keys in dict(_core.part_keys())[group]:
        known.setdefault(kind, set()).update(keys)
    config = everything.resolve()
    hops = [link["hop"] for link in (*config["links"], *dumbbell("reno").resolve()["links"])]
    sides = ("ingress", "egress", "reverse")
    parts = {
        "element": [element for flow in config["flows"] for side in sides for element in flow[side]],
        "link": [hop["link"] for hop in hops],
        "queue": [hop["queue"] for hop in hops],
    }[group]
    assert {part["kind"] for part in parts} == known.keys()
    for part in parts:
        assert part.keys() - {"kind"} <= known[part["kind"]], part["kind"]


def test_short_forms_stay_short() -> None:
    text = dumbbell("reno", flows=[{"loss": "2%", "jitter": {"kind": "uniform", "max": "1ms"}}]).to_toml()
    assert 'cca = "reno"\n' in text
    assert 'jitter = {kind = "uniform", max = "1ms"}' in text
    assert "warmup" not in text


def test_scenarios_cross_processes(everything: Scenario) -> None:
    again = pickle.loads(pickle.dumps(everything))  # noqa: S301
    assert again.resolve() == everything.resolve()
    assert again.source == everything.source


def resolved(changes: dict[str, Any]) -> dict[str, Any]:
    document = {"duration": "10s", "link": {"l": {"rate": "24Mbps"}}, "flow": [{"cca": "reno", "rtprop": "20ms"}]}
    return Scenario.from_dict(apply(document, changes)).resolve()


def test_a_bdp_at_a_link_is_of_the_largest_rtprop_that_passes() -> None:
    config = resolved({"flow": [{"cca": "reno", "rtprop": "20ms"}, {"cca": "reno", "rtprop": "80ms"}]})
    # 24 Mbit/s for 80 ms are 240 000 bytes.
    assert config["links"][0]["hop"]["queue"] == {"kind": "droptail", "limit": 240_000}


def test_a_bdp_at_a_flow_is_of_its_own_rtprop_and_slowest_link() -> None:
    config = resolved({"flow.0.rwnd": "2bdp"})
    assert config["flows"][0]["rwnd"] == 2 * 60_000 // 1500


@pytest.mark.parametrize(
    ("link", "rate"),
    [
        ({"steps": [["0s", "24Mbps"], ["5s", "96Mbps"]]}, 12_000_000),
        ({"shaper": {"rate": "8Mbps", "burst": "10kB"}}, 1_000_000),
    ],
)
def test_the_rate_that_bdps_are_made_of(link: dict[str, Any], rate: int) -> None:
    assert resolved({"link.l": link})["links"][0]["hop"]["queue"]["limit"] == rate // 50


def test_a_trace_has_its_mean_rate(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("5\n10\n")
    document = {"duration": "1s", "link": {"l": {"trace": "t"}}, "flow": [{"cca": "reno", "rtprop": "20ms"}]}
    config = Scenario.from_dict(document, base=tmp_path).resolve()
    assert config["links"][0]["hop"]["link"]["opportunities"] == [5_000_000, 10_000_000]
    # Two opportunities of 1504 bytes every 10 ms, for 20 ms.
    assert config["links"][0]["hop"]["queue"]["limit"] == 4 * 1504


@pytest.mark.parametrize("delay", ["0s", "1ms", "4ms", "9ms"])
@pytest.mark.parametrize("access", [None, {"delay": "1ms"}])
def test_all_delays_on_the_way_add_up_to_rtprop(delay: str, access: dict[str, str] | None) -> None:
    document: dict[str, Any] = {
        "duration": "1s",
        "link": {name: {"rate": "1Gbps", "delay": delay} for name in ("a", "b", "up")},
        "flow": [{"cca": "reno", "rtprop": "40ms", "path": ["a", "b"], "ack_path": ["up"]}],
    }
    if access:
        document["flow"][0]["access"] = access
    config = Scenario.from_dict(document).resolve()
    flow, links = config["flows"][0], config["links"]
    # The engine adds a link's delay between two links of a path only (crates/scenario, LinkSpec::delay).
    between = sum(links[i]["delay"] for i in flow["path"][:-1]) + sum(links[i]["delay"] for i in flow["ack_path"][:-1])
    ingress = sum(element.get("by", 0) for element in flow["ingress"])
    assert ingress + between + flow["forward_delay"] + flow["reverse_delay"] == 40_000_000
    least = links[0]["delay"] + links[1]["delay"] + ingress
    assert ingress + links[0]["delay"] + flow["forward_delay"] == max(20_000_000, least)


def test_the_smallest_rtt_is_rtprop_and_the_transmissions() -> None:
    from fairweir.play.run import run

    document = {
        "duration": "2s",
        "noise": "none",
        "link": {name: {"rate": "12Mbps", "delay": "3ms", "buffer": "infinite"} for name in ("a", "b", "up")},
        "flow": [{"cca": "reno", "rtprop": "40ms", "path": ["a", "b"], "ack_path": ["up"], "access": {"delay": "2ms"}}],
    }
    rtt = run(Scenario.from_dict(document)).summary.document["flows"][0]["rtt_ms"]["min"]
    # Two transmissions of 1500 B and one of 52 B at 12 Mbit/s.
    assert rtt == pytest.approx(40 + 2 * 1.0 + 52 * 8 / 12e3, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "side"),
    [("uniform", "egress"), ("random-aggregation", "egress"), ("ack-aggregation", "reverse"), ("periodic", "reverse")],
)
def test_jitter_goes_where_its_kind_belongs(kind: str, side: str) -> None:
    duration = {"uniform": "max", "random-aggregation": "max", "ack-aggregation": "hold", "periodic": "period"}[kind]
    flow = resolved({"flow.0.jitter": {"kind": kind, duration: "5ms"}})["flows"][0]
    assert [len(flow[s]) for s in ("egress", "reverse")] == ([1, 0] if side == "egress" else [0, 1])


def test_identical_flows_are_numbered_and_staggered() -> None:
    flows = resolved({"flow.0.count": 3, "flow.0.stagger": "1s", "flow.0.start": "500ms"})["flows"]
    assert [flow["id"] for flow in flows] == ["reno-1", "reno-2", "reno-3"]
    assert [flow["start"] for flow in flows] == [500_000_000, 1_500_000_000, 2_500_000_000]


def test_a_dumbbell_takes_quantities_and_texts_alike() -> None:
    texts = dumbbell("reno", rate="12Mbps", rtprop=["10ms", "20ms"], duration="10s", warmup="1s", link={"aqm": "codel"})
    quantities = dumbbell(
        "reno",
        rate=Rate.from_mbps(12),
        rtprop=[Duration.from_ms(10), Duration.from_ms(20)],
        duration=Duration.from_s(10),
        warmup=Duration.from_s(1),
        link={"aqm": "codel"},
    )
    assert quantities.resolve() == texts.resolve()


def test_dumbbell_repeats_what_is_given_once() -> None:
    scenario = dumbbell(["reno", "cubic"], rtprop=["10ms", "20ms"], rate="12Mbps", ecn=True, flows=[{"ecn": False}, {}])
    assert [flow.cca.name for flow in scenario.flow] == ["reno", "cubic"]
    assert [flow.rtprop for flow in scenario.flow] == ["10ms", "20ms"]
    assert [flow.ecn for flow in scenario.flow] == [False, True]
    assert len(dumbbell("reno", rtprop=["1ms"] * 5).flow) == 5
    with pytest.raises(ConfigError, match="cca has 2 entries for 3 flows"):
        dumbbell(["reno", "cubic"], rtprop=["1ms"] * 3)


def test_overrides_reach_into_tables_lists_and_all_entries() -> None:
    scenario = dumbbell("reno", rtprop=["10ms", "20ms"])
    changed = scenario.override(
        {"flow.*.cca": "cubic", "flow.1.rtprop": "5ms", "link.bottleneck.rate": "1Mbps", "flow.0.access.delay": "1ms"}
    )
    assert [flow.cca.name for flow in changed.flow] == ["cubic", "cubic"]
    assert [flow.rtprop for flow in changed.flow] == ["10ms", "5ms"]
    assert changed.link["bottleneck"].rate == "1Mbps"
    assert scenario.flow[0].cca.name == "reno"


def test_overrides_reach_into_a_controller_that_is_written_as_text() -> None:
    changed = dumbbell(["reno", {"name": "cubic"}, "cubic{c=0.3}"]).override(
        {"flow.*.cca.beta": 0.3, "flow.0.cca": "bbr"}
    )
    assert [flow.cca.params for flow in changed.flow] == [{}, {"beta": 0.3}, {"c": 0.3, "beta": 0.3}]
    # Keys are applied in the given order, so the parameter of the later key remains.
    changed = dumbbell("reno").override({"flow.0.cca": "cubic", "flow.0.cca.beta": 0.3})
    assert (changed.flow[0].cca.name, changed.flow[0].cca.params) == ("cubic", {"beta": 0.3})


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("link.bottlneck.rate", "3Mbps", "did you mean `bottleneck`?"),
        ("lnk.bottleneck.rate", "3Mbps", "did you mean `link`?"),
        ("link.bottleneck.ratee", "3Mbps", "did you mean `rate`?"),
        ("flow.0.rtprop.max", "3ms", "write flow.0.rtprop=VALUE"),
        ("flow.0.rtprop.max.more", "3ms", "write flow.0.rtprop=VALUE"),
        ("flow.0.jitter", "5ms", 'write it as jitter = { kind = "constant", delay = "5ms" }'),
        ("flow.0.policer", "5Mbps", 'write it as policer = { rate = "12Mbps", burst = "64KiB" }'),
        ("flow.0.cca", 3, 'write it as cca = { name = "bbr" }'),
    ],
)
def test_overrides_that_go_wrong_have_a_hint(key: str, value: Any, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        dumbbell("reno").override({key: value})
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("flow.2.cca", "key `flow.2.cca` does not exist: no entry `2`"),
        ("link.none.rate", "key `link.none.rate` does not exist: no `none`"),
        ("flow.x.cca", "key `flow.x.cca` does not exist: no entry `x`"),
        ("duration.x", "key `duration.x` leads through something that is not a table"),
        ("flow.0.rat", "unknown key `rat`"),
    ],
)
def test_overrides_that_lead_nowhere(key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        dumbbell("reno", rtprop=["10ms", "20ms"]).override({key: "1ms"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=bbr", "bbr"),
        ("k=3", 3),
        ("k=true", True),
        ("k=12Mbps", "12Mbps"),
        ('k="a=b"', "a=b"),
        ('k={ kind = "codel" }', {"kind": "codel"}),
        ("k=", ""),
    ],
)
def test_settings_are_toml_or_text(text: str, value: Any) -> None:
    assert parse_setting(text) == ("k", value)


def test_a_setting_without_a_value() -> None:
    with pytest.raises(ConfigError, match="setting has no value: `k`"):
        parse_setting("k")


def test_units_are_those_of_the_core() -> None:
    assert _core.parse_time("40ms") == 40_000_000
    assert _core.parse_rate("96Mbps") == 12_000_000
    assert _core.parse_bytes("64KiB") == 65_536
    assert _core.parse_size("1.5bdp") == ("bdp", 1.5)
    assert _core.resolve_size("1.5bdp", 1500, 1000) == 1500
    assert _core.resolve_size("infinite", 1500, 1000) is None
    assert _core.format_time(40_000_000) == "40ms"
    assert _core.format_rate(12_000_000) == "96Mbps"
    assert _core.format_bytes(65_536) == "64KiB"
    with pytest.raises(ConfigError, match="time `4` has no unit"):
        _core.parse_time("4")
