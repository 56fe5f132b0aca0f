"""All generated scenarios run: their results are possible, and a second run is identical."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairweir.ccas.lookup import algorithms
from fairweir.errors import ConfigError
from fairweir.play.run import run
from fairweir.scenario.model import Scenario

SHORT = st.sampled_from(["10us", "1ms", "7ms", "40ms", "250ms"])
RATES = st.sampled_from(["100kbps", "1Mbps", "12Mbps", "96Mbps", "400Mbps"])
BUFFERS = st.sampled_from(["100B", "1pkts", "10pkts", "0.1bdp", "1bdp", "10bdp", "infinite"])
SHARES = st.sampled_from(["0%", "0.1%", "5%", "60%", "100%"])


def optional(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keys)


def kind(name: str, **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"kind": st.just(name), **keys})


JITTER = st.one_of(
    kind("constant", delay=SHORT, after=SHORT),
    kind("uniform", max=SHORT),
    kind("ack-aggregation", hold=SHORT),
    kind("random-aggregation", max=SHORT),
    kind("periodic", period=SHORT),
    kind("early-packet", offset=SHORT, every=SHORT),
    kind(
        "trajectory", points=st.just([["0s", "5ms"], ["100ms", "0s"], ["1s", "20ms"]]), interpolation=st.just("linear")
    ),
    kind("virtual-link", rate=RATES, bound=SHORT, after=SHORT),
)
LOSS = st.one_of(
    SHARES,
    kind("burst", enter=SHARES, leave=st.sampled_from(["1%", "50%"])),
    kind("periodic", every=st.integers(1, 50)),
)
AQM = st.one_of(
    st.sampled_from(["droptail", "codel"]),
    kind("red", min=st.just("5pkts"), max=st.just("15pkts"), ecn=st.booleans(), gentle=st.booleans()),
    kind("ecn-threshold", threshold=st.sampled_from(["1pkts", "20pkts"])),
    kind("dualpi2", target=SHORT, ramp=st.sampled_from(["0s", "1ms"]), classic_weight=SHARES),
)
SPEED = st.one_of(
    st.fixed_dictionaries({"rate": RATES}),
    st.fixed_dictionaries({"shaper": st.fixed_dictionaries({"rate": RATES, "burst": st.just("10kB")})}),
    st.just({"steps": [["0s", "12Mbps"], ["500ms", "0bps"], ["700ms", "1Mbps"], ["1s", "48Mbps"]]}),
)
SOURCE: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"bytes": st.sampled_from(["1B", "100kB", "5MB"])}),
    st.fixed_dictionaries({"app_rate": RATES}),
    st.fixed_dictionaries({"on_off": st.fixed_dictionaries({"on": SHORT, "off": SHORT})}),
)
FLOW = st.builds(
    lambda source, needed, more: {**source, **needed, **more},
    SOURCE,
    st.fixed_dictionaries({"cca": st.sampled_from(sorted(algorithms())), "rtprop": SHORT}),
    optional(
        path=st.sampled_from([["a"], ["b"], ["a", "b"], ["b", "a"]]),
        count=st.integers(1, 3),
        stagger=SHORT,
        start=SHORT,
        stop=st.sampled_from(["700ms", "1s"]),
        jitter=st.lists(JITTER, max_size=2),
        ack_jitter=st.lists(JITTER, max_size=2),
        loss=st.lists(LOSS, max_size=1),
        ack_loss=st.lists(LOSS, max_size=1),
        policer=st.fixed_dictionaries({"rate": RATES, "burst": st.sampled_from(["1500B", "64KiB"])}),
        access=st.fixed_dictionaries({"rate": RATES}, optional={"buffer": BUFFERS}),
        delayed_ack=st.integers(1, 8),
        sack=st.booleans(),
        ecn=st.booleans(),
        gso=st.integers(1, 16),
        initial_cwnd=st.sampled_from(["1pkts", "10pkts", "1000pkts"]),
        rwnd=st.sampled_from(["1pkts", "20pkts"]),
        min_rto=st.sampled_from(["1ms", "1s"]),
        oracle_rtprop=st.booleans(),
    ),
)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    links = {
        name: {**draw(SPEED), **draw(optional(buffer=BUFFERS, aqm=AQM, delay=st.just("1us")))} for name in ("a", "b")
    }
    flows = draw(st.lists(FLOW, min_size=1, max_size=3))
    for flow in flows:
        flow.setdefault("path", ["a", "b"])
        if flow.get("stop") == "700ms" and flow.get("count", 1) > 1:
            flow["stop"] = "1s"
    warmup = draw(st.sampled_from(["0s", "1s"]))
    return {"duration": "2s", "warmup": warmup, "seed": draw(st.integers(0, 9)), "link": links, "flow": flows}


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_any_scenario_runs(document: dict[str, Any]) -> None:
    scenario = Scenario.from_dict(document)
    try:
        record = run(scenario, interval="100ms")
    except ConfigError as error:
        # These are the only errors that the simulator, and not the validation, may find in these scenarios.
        assert "rate is too low for a byte to pass in 10us" in str(error)
        return
    summary = record.summary.document
    for flow, spec in zip(summary["flows"], scenario.resolve()["flows"], strict=True):
        assert 0 <= flow["loss_rate"] <= 1
        assert 0 <= flow["mark_rate"] <= 1
        assert 0 <= flow["goodput_mbps"] <= flow["throughput_mbps"]
        assert flow["delivered_pkts"] <= flow["sent_pkts"] or scenario.warmup != "0s"
        if flow["rtt_ms"]["samples"]:
            assert flow["rtt_ms"]["min"] >= spec["rtprop"] / 1e6
            assert flow["rtt_ms"]["min"] <= flow["rtt_ms"]["p50"] <= flow["rtt_ms"]["p99"] <= flow["rtt_ms"]["max"]
    for link in summary["links"]:
        assert 0 <= link["utilization"] <= 1 + 1e-9
        assert link["drops"] <= link["arrivals"]
    again = run(scenario).summary.document
    assert (again["flows"], again["links"], again["packets"]) == (
        summary["flows"],
        summary["links"],
        summary["packets"],
    )
