"""Published experiments: their files, readings of runs, and verdicts."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.summaries import filled

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.judging.outcome import Outcome
from fairweir.papers.catalogue import computed_entries
from fairweir.reproduce.computed import Number, judge_number
from fairweir.reproduce.experiment import Axis, Bound, Case, Check, Experiment, Reading, load_all
from fairweir.reproduce.judge import judge
from fairweir.reproduce.readings import read
from fairweir.reproduce.runner import reproduce
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

PUBLISHED = Path(__file__).parents[2] / "scenarios" / "published"
REQUIRED = {
    *("thesis-2.1", "thesis-2.2", "thesis-6.7", "thesis-7.17", "thesis-7.18", "thesis-7.19", "thesis-7.20"),
    *("thesis-7.21", "thesis-d.1", "thesis-d.2", "thesis-d.3"),
    *("thesis-4.6", "thesis-b.3", "thesis-b.4", "thesis-b.5", "thesis-b.6", "thesis-b.7"),
    *("starvation-5.1", "starvation-5.2", "starvation-5.3", "starvation-5.4-allegro", "starvation-5.4-delayed-acks"),
    *("wcc-figure-2", "wcc-table-1", "wcc-table-2", "wcc-table-3"),
}

EXPERIMENT = """
title = "Two equal flows share"
source = "common knowledge"
published = "one to one"
seeds = 2

[scenario]
duration = "6s"
warmup = "2s"

[scenario.link.bottleneck]
rate = "12Mbps"

[[scenario.flow]]
id = "first"
cca = "vegas"
rtprop = "20ms"

[[scenario.flow]]
id = "second"
cca = "vegas"
rtprop = "20ms"

[[case]]
name = "by rate"
axis = { key = "link.bottleneck.rate", values = ["12Mbps", "24Mbps"], kernel = ["", "24Mbps"] }

[[case.check]]
claim = "the link is full"
reading = "utilization"
published = 1.0
at_least = 0.5

[[case.check]]
claim = "twice the rate, twice the throughput"
reading = "throughput_mbps"
published = [6.0, 12.0]
within = 0.3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "equal.toml").write_text(EXPERIMENT)
    return tmp_path


def test_everything_that_was_promised_is_there_and_can_be_run() -> None:
    # Loading resolves every scenario of every world.
    experiments = load_all(PUBLISHED)
    assert {experiment.id for experiment in experiments} >= REQUIRED
    for experiment in experiments:
        scenario = next(experiment.settings(["sim"])).scenario
        ids = [flow["id"] for flow in scenario.resolve()["flows"]]
        summary = {"flows": [{"id": i, "throughput_mbps": 1.0} for i in ids], "links": [{"utilization": 1.0}]}
        for case in experiment.case:
            for check in case.check:
                if check.reading in ("gain", "ratio", "jain"):
                    assert read(check, scenario, filled(summary)) == pytest.approx(1.0)
                assert check.within is not None or check.reason, (experiment.id, check.claim)


def test_the_page_shows_a_file_that_can_be_run_and_every_reading(tmp_path: Path) -> None:
    page = (PUBLISHED.parents[1] / "docs" / "reproduce.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "example.toml").write_text(example)
    assert Experiment.load(tmp_path / "example.toml").worlds == ["sim", "kernel"]
    assert all(f"`{reading}`" in page for reading in get_args(Reading))


def test_an_experiment_from_file_to_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "equal", "--experiments", str(folder), "--out", str(folder / "out"), "--workers", "1"]
    assert main([*words, "--json", "--plot", str(folder / "drawn")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"holds": 2, "fails": 0, "unknown": 0, "unexplained": 0}
    use, rates = document["findings"]
    assert 0.5 <= use["lo"] <= use["value"] <= use["hi"] <= 1.0
    assert (rates["is_relative"], rates["runs"], rates["published"]) == (True, 2, "6, 12")
    names = {"equal-by-rate-12Mbps-sim.png", "equal-by-rate-24Mbps-sim.png"}
    assert {file.name for file in (folder / "drawn").iterdir()} == names
    assert len(list((folder / "out" / "runs").iterdir())) == 4
    assert main(words) == 0
    assert "1 experiments, 2 checks: 2 hold, 0 fail, 0 unknown" in capsys.readouterr().out


def test_a_check_that_fails_fails_the_command_unless_it_is_known_why(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = EXPERIMENT.replace("at_least = 0.5", "at_most = 0.5")
    (folder / "equal.toml").write_text(wrong)
    words = ["reproduce", "--experiments", str(folder), "--out", str(folder / "out"), "--workers", "1"]
    assert main(words) == 1
    capsys.readouterr()
    known = wrong.replace("at_most = 0.5", 'at_most = 0.5\ndiffers = { sim = "they are twins" }')
    (folder / "equal.toml").write_text(known)
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "they are twins" in shown
    assert "1 fail (1 for a documented reason)" in shown


def test_a_quick_look_has_fewer_seeds_shorter_runs_and_an_archive_of_its_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = EXPERIMENT.replace("seeds = 2", 'seeds = 4\n\n[quick]\nset = { duration = "4s" }')
    (folder / "equal.toml").write_text(slow)
    out = folder / "out"
    words = ["reproduce", "--experiments", str(folder), "--out", str(out), "--workers", "1", "--all", "--quick"]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["is_quick"]
    assert document["experiments"]["equal"]["setup"] == "quick: 3 seeds instead of 4, duration 4s"
    assert {finding["runs"] for finding in document["findings"]} == {3}
    runs = list((out / "quick" / "runs").iterdir())
    assert len(runs) == 6
    quick = Experiment.load(folder / "equal.toml").as_quick()
    assert {setting.scenario.duration for setting in quick.settings(["sim"])} == {"4s"}
    assert main(words) == 0
    assert "quick: fewer seeds, shorter runs; 1 experiments, 2 checks: 2 hold" in capsys.readouterr().out
    assert not (out / "runs").exists()
    assert not (out / "reproduced.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["thesis-2.1", "--all"], "--all and IDs exclude each other: thesis-2.1"),
        (["--quick", "--on", "kernel"], "--quick has no effect with --on kernel"),
    ],
)
def test_options_that_do_not_go_together_are_reported(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_list_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() >= REQUIRED
    assert rows["starvation-5.3"]["worlds"] == ["sim"]
    assert rows["thesis-2.1"]["kernel_minutes"] == 4.0
    assert rows["thesis-7.12"]["worlds"] == ["computed"]


def test_a_computed_figure_from_name_to_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "thesis-7.12", "--out", str(tmp_path / "out"), "--plot", str(tmp_path / "drawn")]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"holds": len(document["findings"]), "fails": 0, "unknown": 0, "unexplained": 0}
    assert {finding["world"] for finding in document["findings"]} == {"computed"}
    assert (tmp_path / "drawn" / "thesis-7.12.png").stat().st_size > 10_000
    # No case of the experiment runs on the kernel.
    assert main([*words, "--on", "kernel"]) == 2


def test_a_computed_number_is_held_to_its_bound() -> None:
    def found(value: float | None, **keys: Any) -> tuple[Outcome, float | None, bool]:
        why = keys.pop("why", "")
        finding = judge_number("e", Number("c", "claim", "reading", value, Bound(**keys), 4.0, why))
        return finding.outcome, finding.value, finding.is_known

    assert found(5.0, within=0.5) == (Outcome.HOLDS, 1.25, False)
    assert found(5.0, within=0.2) == (Outcome.FAILS, 1.25, False)
    assert found(5.0, at_most=4.5, why="a misprint") == (Outcome.FAILS, 5.0, True)
    assert found(None, at_most=4.5, why="no solver") == (Outcome.UNKNOWN, None, False)


def test_ids_are_unique_and_computed_ones_say_where_they_are() -> None:
    entries = computed_entries()
    ids = [entry.id for entry in entries]
    assert len({*ids, *(file.stem for file in PUBLISHED.glob("*.toml"))}) == len(ids) + len(list(PUBLISHED.iterdir()))
    for entry in entries:
        module, _, function = entry.home.partition(":")
        assert callable(getattr(importlib.import_module(module), function)), entry.id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds = 2", "sedes = 2"), "unknown key `sedes`"),
        (("seeds = 2", 'seeds = 2\nquick = { set = { duratoin = "4s" } }'), "duratoin"),
        (('"12Mbps", "24Mbps"], kernel', '"12Mbps"], kernel'), "a different number of values for the kernel"),
        (("at_least = 0.5", ""), "has no bound"),
        (("published = [6.0, 12.0]", "published = [6.0]"), "a different number of published values than of settings"),
        (('reading = "utilization"', 'reading = "gain"'), "compares flows"),
        (('cca = "vegas"', 'cca = "vagas"'), "no congestion controller `vagas`"),
    ],
)
def test_a_wrong_file_is_reported(folder: Path, change: tuple[str, str], message: str) -> None:
    (folder / "equal.toml").write_text(EXPERIMENT.replace(*change, 1))
    with pytest.raises(ConfigError, match=message):
        load_all(folder)


def test_a_name_that_does_not_exist_is_reported(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no published experiment `other`"):
        load_all(folder, ["other"])


def test_flows_that_are_not_there_are_reported(folder: Path) -> None:
    text = EXPERIMENT.replace('reading = "utilization"', 'reading = "ratio"\nof = ["third"]')
    (folder / "equal.toml").write_text(text)
    with pytest.raises(ConfigError, match="no flow is named `third`"):
        reproduce([Experiment.load(folder / "equal.toml")], ["sim"], workers=1)


def summary(**throughputs: float) -> dict[str, Any]:
    flows = [{"id": name.replace("_", "-"), "throughput_mbps": rate} for name, rate in throughputs.items()]
    return {"flows": flows, "links": [{"utilization": 0.97}]}


def test_gains_compare_groups_of_flows() -> None:
    check = Check(claim="c", reading="gain", of=["long"], by=["short-*"], at_most=1.0)
    scenario = dumbbell("reno")
    assert read(check, scenario, filled(summary(long=2.0, short_1=3.0, short_2=5.0))) == 0.5
    assert read(check, scenario, filled(summary(long=2.0, short_1=0.0))) == 1e6


def test_losses_are_counted_in_each_flows_own_rtprop() -> None:
    check = Check(claim="c", reading="lost_per_rtprop", at_most=1.0)
    scenario = Scenario.from_dict(
        {
            "duration": "30s",
            "warmup": "10s",
            "link": {"l": {"rate": "12Mbps"}},
            "flow": [
                {"id": "near", "cca": "reno", "rtprop": "10ms"},
                {"id": "far", "cca": "reno", "rtprop": "40ms"},
            ],
        }
    )
    flows = [{"id": "near", "lost_pkts": 2000}, {"id": "far", "lost_pkts": 1000}]
    assert read(check, scenario, filled({"flows": flows})) == pytest.approx((1.0 + 2.0) / 2)


def test_late_fairness_looks_at_the_end_of_each_time_between_changes() -> None:
    check = Check(claim="c", reading="late_jain", at_least=0.9)
    scenario = Scenario.from_dict(
        {
            "duration": "30s",
            "link": {"l": {"rate": "12Mbps"}},
            "flow": [{"cca": "reno", "rtprop": "10ms"}, {"cca": "reno", "rtprop": "10ms", "start": "15s"}],
        }
    )
    t_s = [float(t) for t in range(1, 31)]
    slow = [0.0 if t <= 25 else 6.0 for t in t_s]
    over_time = {"t_s": t_s, "throughput_mbps": [[6.0] * 30, slow]}
    assert read(check, scenario, filled({**summary(a=1.0), "over_time": over_time})) == pytest.approx(1.0)
    over_time["throughput_mbps"] = [[6.0] * 30, [0.0 if t <= 25 else 2.0 for t in t_s]]
    assert read(check, scenario, filled({**summary(a=1.0), "over_time": over_time})) == pytest.approx(64 / 80)


def verdict(samples: list[float], **keys: Any) -> tuple[Outcome, float | None]:
    check = Check(claim="c", reading="gain", of=["a"], by=["b"], **keys)
    found = judge("e", Case(name="c", check=[check]), check, "sim", {0: ("", samples)})
    return found.outcome, found.value


def test_the_whole_interval_decides() -> None:
    assert verdict([1.0, 1.1, 1.05], at_most=2.0)[0] is Outcome.HOLDS
    assert verdict([3.0, 3.1, 3.05], at_most=2.0)[0] is Outcome.FAILS
    assert verdict([1.0, 3.0, 2.0], at_most=2.0)[0] is Outcome.UNKNOWN
    outcome, value = verdict([2.1, 1.9, 2.0], within=0.2, published=2.0)
    assert outcome is Outcome.HOLDS
    assert value == pytest.approx(0.999, abs=1e-3)
    # A single run has no interval, so its value determines the outcome.
    assert verdict([1.9], at_most=2.0) == (Outcome.HOLDS, 1.9)


def test_growth_compares_the_ends_run_by_run() -> None:
    check = Check(claim="c", reading="ratio", at="growth", at_least=1.5, reason="r")
    case = Case(name="c", axis=Axis(key="k", values=[1, 2, 3]), check=[check])
    samples = {0: ("1", [1.0, 2.0]), 1: ("2", [9.0, 9.0]), 2: ("3", [2.0, 4.0])}
    found = judge("e", case, check, "sim", samples)
    assert (found.at, found.outcome) == ("1 to 3", Outcome.HOLDS)
    assert found.value == pytest.approx(2.0)


def test_a_run_that_may_not_be_judged_leaves_the_check_unknown() -> None:
    check = Check(claim="c", reading="ratio", at_most=2.0)
    case = Case(name="c", check=[check])
    found = judge("e", case, check, "kernel", {0: ("", [1.0])}, "not judged: p99 9 ms")
    assert (found.outcome, found.why, found.value) == (Outcome.UNKNOWN, "not judged: p99 9 ms", 1.0)
