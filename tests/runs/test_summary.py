"""The typed summary has what the simulator and the kernel world write, no more and no less."""

from __future__ import annotations

import doctest
import json
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.summaries import filled
from tests.worlds import fake_helper

from fairweir.errors import ConfigError
from fairweir.judging.summary import (
    Answers,
    Emulator,
    FlowSummary,
    HostAnswers,
    Lateness,
    LinkSummary,
    Statistics,
    Summary,
)
from fairweir.play import run as run_module
from fairweir.play import table as table_module
from fairweir.play.run import Run, run
from fairweir.play.run_plot import PlotKind
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario
from fairweir.show.notebook import EmbeddedPage, Image
from fairweir.units import Duration, Rate


@pytest.fixture(scope="module")
def record() -> Run:
    pair = dumbbell(["bbr", "cubic"], rate="24Mbps", rtprop="20ms", duration="5s")
    return run(pair, interval="1s")


def names(kind: type[Any]) -> set[str]:
    return {one.name for one in fields(kind)} - {"extra"}


def test_fields_are_the_keys_that_the_simulator_writes(record: Run) -> None:
    document = record.summary.document
    assert [names(FlowSummary)] * 2 == [flow.keys() for flow in document["flows"]]
    assert [names(LinkSummary)] == [link.keys() for link in document["links"]]
    assert names(Statistics) == document["flows"][0]["rtt_ms"].keys() == document["links"][0]["queue_ms"].keys()
    assert document.keys() == {
        "scenario",
        "world",
        "seed",
        "version",
        "flows",
        "links",
        "fairness",
        "packets",
        "events",
        "wall_s",
    }


def test_fields_of_the_emulator_are_among_the_keys_of_the_kernel_world() -> None:
    rust = (Path(__file__).parents[2] / "crates/emu/src/record.rs").read_text(encoding="utf-8")
    for kind, name in (
        (Emulator, "Accuracy"),
        (Lateness, "ReleaseError"),
        (Answers, "Answers"),
        (HostAnswers, "HostAnswers"),
    ):
        body = rust.partition(f"pub struct {name} {{")[2].partition("\n}")[0]
        keys = {line.split(":")[0].removeprefix("    pub ") for line in body.splitlines() if "    pub " in line}
        assert names(kind) <= keys
    document = fake_helper.document({"flows": [{"id": "a", "cca": "reno"}]}, judged=False)
    emulator = Summary(document).emulator
    assert emulator is not None
    assert (emulator.judged, emulator.release_error_us.p99, emulator.mode) == (False, 71.0, "mtu")


def test_every_value_is_the_document_s(record: Run) -> None:
    document = record.summary.document
    for one, flow in zip(record.summary.flows, document["flows"], strict=True):
        for name in names(FlowSummary) - {"rtt_ms", "qdelay_ms"}:
            assert getattr(one, name) == flow[name]
        for name in ("rtt_ms", "qdelay_ms"):
            assert {key: getattr(getattr(one, name), key) for key in names(Statistics)} == flow[name]
        assert one.throughput == Rate.from_mbps(flow["throughput_mbps"])
        assert one.rtt.p95 == Duration.from_ms(flow["rtt_ms"]["p95"])
        assert one.rtt.samples == flow["rtt_ms"]["samples"]
        assert one.qdelay.mean == Duration.from_ms(flow["qdelay_ms"]["mean"])
        assert one.completion is None
    assert record.summary.links[0].queue.max == Duration.from_ms(document["links"][0]["queue_ms"]["max"])
    assert record.jain == record.summary.jain == document["fairness"]["jain"]
    assert record.summary.wall == Duration.from_s(document["wall_s"])
    assert json.loads(json.dumps(document)) == document
    again = pickle.loads(pickle.dumps(record.summary))  # noqa: S301
    assert again == record.summary
    assert again.flows == record.summary.flows


def test_flows_and_links_are_found_by_name(record: Run) -> None:
    assert list(record.flow) == ["bbr-1", "cubic-2"]
    assert record.flow["cubic-2"] is record.summary.flows[1]
    assert record.link["bottleneck"].drops == record.summary.document["links"][0]["drops"]
    with pytest.raises(KeyError, match=r"`bbr-2`.*did you mean `bbr-1`"):
        _ = record.flow["bbr-2"]


def test_a_missing_key_is_an_error_and_another_one_is_kept() -> None:
    document = filled({"flows": [{"id": "a", "turning": 3}]}).document
    (flow,) = Summary(document).flows
    assert flow.extra == {"turning": 3}
    del document["flows"][0]["timeouts"]
    with pytest.raises(KeyError, match="timeouts"):
        _ = Summary(document).flows


def test_a_run_shows_and_draws_itself(record: Run, tmp_path: Path) -> None:
    assert len(repr(record)) < 120
    assert "<td>cubic-2</td>" in record._repr_html_()
    assert record.plot(tmp_path / "run.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(ConfigError, match="plot must end in"):
        record.plot(tmp_path / "run.gif")


def test_a_notebook_shows_a_run_over_time(record: Run) -> None:
    interactive, static = record.plot(), record.plot(kind="static")
    assert isinstance(interactive, EmbeddedPage)
    assert isinstance(static, Image)
    frame = interactive._repr_html_()
    # The page cannot leave its attribute, and its scripts cannot reach the notebook's page.
    assert frame.count('"') == 8
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert static._repr_png_()[0][1:4] == b"PNG"
    # Texts that describe objects stay short: notebooks print them where HTML cannot be shown.
    assert max(len(repr(interactive)), len(repr(static))) < 100
    with pytest.raises(ConfigError, match="kind has no effect on a file: `static`"):
        record.plot("run.png", kind="static")  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="kind cannot be `statik`"):
        record.plot(kind="statik")  # type: ignore[call-overload]
    without = run(dumbbell("reno", duration="2s"))
    for kind in get_args(PlotKind):
        with pytest.raises(ConfigError, match="the run recorded no time series"):
            without.plot(kind=kind)


def test_a_name_from_a_file_is_no_markup_in_a_notebook() -> None:
    given = dumbbell("reno", duration="2s").to_dict() | {"name": '<b>"', "description": "<script>alert(1)</script>"}
    scenario = Scenario.from_dict(given)
    shown = run(scenario, interval="100ms")
    for text in (scenario._repr_html_(), shown._repr_html_(), shown.plot()._repr_html_()):
        assert "<b>" not in text
        assert "<script>" not in text
    assert "rtprop = &quot;40ms&quot;" in scenario._repr_html_()


def test_a_run_that_is_not_judged_shows_the_reason_in_a_notebook(record: Run) -> None:
    late = {"judged": False, "reason": "packets <late>", "release_error_us": {"p99": 9e3}}
    emulator = filled({"flows": [], "emulator": late}).document["emulator"]
    shown = replace(record, summary=Summary({**record.summary.document, "emulator": emulator}))
    assert not shown.is_judged
    assert "<strong>Not judged</strong>: packets &lt;late&gt;" in shown._repr_html_()


def test_examples_work() -> None:
    for module in (run_module, table_module):
        found = doctest.testmod(module)
        assert found.attempted > 2
        assert found.failed == 0
