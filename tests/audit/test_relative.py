"""Audits with a reference: paired differences, their verdicts, and what a gate does with them."""

from __future__ import annotations

import json
import math
import random
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

import fairweir
from fairweir.audit import Depth, run_audit
from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.audit.folder import write_files
from fairweir.audit.relative import relate, suspects
from fairweir.audit.results import AuditResults, CcaResults, Curve, FamilyResult, Fault, Point
from fairweir.audit.standings import Relative, Standing
from fairweir.cli.main import main
from fairweir.judging.difference import Relation, judge_difference, paired, smallest_relevant
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Interval, Outcome
from fairweir.scenario.model import Scenario

FAMILY = FAMILIES["deep-buffer"]
PLACES = FAMILY.places[Depth.DEFAULT]
FIRST, NEW = range(1, 4), range(10_001, 10_013)

Values = dict[str, dict[int, float]]
"""Metric -> seed -> value, the same at every point."""


def measured(
    cca: str, values: Values, *, labels: int = 1, faults: int = 0, scenarios: str = "same", family: str = "deep-buffer"
) -> CcaResults:
    """Results of one family with the given samples."""
    curves = [
        Curve(
            metric=metric,
            points=[
                Point(
                    x=place.x,
                    label=place.label,
                    samples=[v for s, v in of_seed.items() if s in FIRST],
                    seeds=[s for s in of_seed if s in FIRST],
                    new_samples=[v for s, v in of_seed.items() if s in NEW],
                    new_seeds=[s for s in of_seed if s in NEW],
                )
                for place in PLACES[:labels]
            ],
        )
        for metric, of_seed in values.items()
    ]
    failed = [
        Fault(
            family=family,
            label=PLACES[0].label,
            seed=seed,
            kind="controller",
            message="no idea what to do",
            scenario_toml="",
        )
        for seed in range(1, faults + 1)
    ]
    result = FamilyResult(
        name=family,
        title=family,
        question="",
        setup="",
        axis=FAMILY.axis,
        curves=curves,
        faults=failed,
        planned=len(FIRST) + len(NEW),
    )
    return CcaResults(cca=cca, verdict=Outcome.HOLDS, families=[result], scenarios={family: scenarios})


def noisy(mean: float, spread: float, seed: int = 0) -> dict[int, float]:
    dice = random.Random(f"{mean} {spread} {seed}")  # noqa: S311
    return {s: mean + spread * dice.uniform(-1, 1) for s in (*FIRST, *NEW)}


def compared(reference: CcaResults, candidate: CcaResults) -> Relative:
    found = suspects(reference, candidate)
    return relate(reference, candidate, found, len(found))


def standing(relative: Relative, metric: str) -> Standing:
    return next(s for s in relative.standings if s.metric == metric)


@pytest.mark.parametrize(
    ("interval", "good", "relation"),
    [
        ((-0.5, 0.5), Direction.AT_MOST, Relation.SAME),
        ((2.0, 4.0), Direction.AT_MOST, Relation.WORSE),
        ((2.0, 4.0), Direction.AT_LEAST, Relation.BETTER),
        ((-4.0, -2.0), Direction.AT_MOST, Relation.BETTER),
        ((-4.0, -2.0), Direction.AT_LEAST, Relation.WORSE),
        ((-1.0, 4.0), Direction.AT_MOST, Relation.UNDECIDED),
        ((0.1, 1.5), Direction.AT_MOST, Relation.UNDECIDED),
        ((-math.inf, math.inf), Direction.AT_MOST, Relation.UNDECIDED),
    ],
)
def test_a_difference_is_judged_by_its_interval_and_the_smallest_relevant_one(
    interval: tuple[float, float], good: Direction, relation: Relation
) -> None:
    lo, hi = interval
    value = (lo + hi) / 2 if math.isfinite(lo) else 5.0
    assert judge_difference(Interval(value=value, lo=lo, hi=hi), 1.0, good) is relation


def test_ratios_are_compared_by_their_logarithms() -> None:
    found = paired([2.0, 3.0], [4.0, 6.0], Scale.RATIO)
    assert found.value == pytest.approx(math.log(2))
    assert found.hi - found.lo == pytest.approx(0.0, abs=1e-12)
    assert smallest_relevant(Scale.RATIO, 2.5) == pytest.approx(math.log(1.1))


def test_one_pair_decides_nothing() -> None:
    assert math.isinf(paired([1.0], [9.0], Scale.POSITIVE).hi)


def test_where_smaller_is_better_more_is_worse_and_where_larger_is_better_less_is() -> None:
    reference = measured("a", {"queue_ms": noisy(100, 2), "utilization": noisy(0.9, 0.01)})
    candidate = measured("b", {"queue_ms": noisy(150, 2), "utilization": noisy(0.7, 0.01)})
    worse = compared(reference, candidate)
    assert {s.metric for s in worse.of(Relation.WORSE)} == {"queue_ms", "utilization"}
    better = compared(candidate, reference)
    assert {s.metric for s in better.of(Relation.BETTER)} == {"queue_ms", "utilization"}
    assert not better.is_worse
    found = standing(worse, "queue_ms")
    assert found.difference == pytest.approx(50, abs=3)
    assert found.confidence == pytest.approx(0.975)
    assert found.pairs == len(NEW)
    assert found.change.startswith("+5")


def test_only_new_seeds_confirm() -> None:
    """The first seeds differ by chance; the new ones do not."""
    before, lucky = noisy(100, 1), noisy(100, 1, seed=1)
    lucky.update({seed: 130.0 + seed for seed in FIRST})
    reference, candidate = measured("a", {"queue_ms": before}), measured("b", {"queue_ms": lucky})
    assert len(suspects(reference, candidate)) == 1
    found = standing(compared(reference, candidate), "queue_ms")
    assert found.relation in (Relation.SAME, Relation.UNDECIDED)


def test_an_irrelevant_difference_is_the_same() -> None:
    reference, candidate = measured("a", {"queue_ms": noisy(100, 0.01)}), measured("b", {"queue_ms": noisy(101, 0.01)})
    assert standing(compared(reference, candidate), "queue_ms").relation is Relation.SAME


def test_equal_controllers_differ_in_at_most_a_twentieth_of_audits() -> None:
    """Independent noise of the same distribution on both sides, nine metrics per audit, also with rare large values."""
    dice = random.Random(1)  # noqa: S311
    alarms = 0
    for _ in range(200):
        sides = []
        for name in ("a", "b"):
            values: Values = {
                metric: {s: dice.lognormvariate(0, 1) + (20 if dice.random() < 0.1 else 0) for s in (*FIRST, *NEW)}
                for metric in ("queue_ms", "queue_p95_ms", "queue_by_rtprop")
            }
            sides.append(measured(name, values, labels=3))
        found = compared(*sides)
        alarms += bool(found.of(Relation.WORSE) or found.of(Relation.BETTER))
    assert alarms <= 10


def test_a_metric_without_a_good_side_is_not_compared() -> None:
    assert next(m for m in FAMILIES["heavy-loss"].metrics if m.name == "utilization").better is None
    place = FAMILIES["heavy-loss"].places[Depth.DEFAULT][0]
    sides = [measured(name, {"utilization": noisy(0.5, 0.1)}, family="heavy-loss") for name in ("a", "b")]
    assert place.label
    assert compared(*sides).standings == []


def test_every_metric_with_a_bound_has_the_good_side_of_its_bound() -> None:
    for family in FAMILIES.values():
        metrics = {metric.name: metric for metric in family.metrics}
        for claim in family.claims:
            if claim.threshold is not None:
                assert metrics[claim.metric].better is claim.threshold.direction, f"{family.name}.{claim.metric}"


def test_metrics_that_are_undefined_in_some_seeds_are_paired_where_both_are_defined() -> None:
    full, gaps = noisy(100, 1), noisy(150, 1)
    for seed in (2, *NEW[:6]):
        del gaps[seed]
    found = standing(compared(measured("a", {"queue_ms": full}), measured("b", {"queue_ms": gaps})), "queue_ms")
    assert found.relation is Relation.WORSE
    assert found.pairs == 6
    never = compared(measured("a", {"queue_ms": full}), measured("b", {"queue_ms": {}}))
    assert never.standings == []
    assert any("no runs for b" in line for line in never.not_compared)
    once = standing(compared(measured("a", {"queue_ms": full}), measured("b", {"queue_ms": {1: 900.0}})), "queue_ms")
    assert once.relation is Relation.UNDECIDED
    assert "fewer than two pairs" in once.why


def test_a_candidate_that_crashes_is_worse_and_the_other_way_round_better() -> None:
    values = {"queue_ms": noisy(100, 1)}
    sound, frail = measured("a", values), measured("b", values, faults=7)
    found = compared(sound, frail)
    assert [s.metric for s in found.of(Relation.WORSE)] == ["runs"]
    assert "0 of 15 -> 7 of 15" in found.of(Relation.WORSE)[0].why
    assert [s.metric for s in compared(frail, sound).of(Relation.BETTER)] == ["runs"]
    assert not compared(frail, frail).is_worse


def test_a_reference_that_lacks_an_exhibit_is_named() -> None:
    values = {"queue_ms": noisy(100, 1)}
    found = compared(measured("a", values, family="policer"), measured("b", values))
    assert found.standings == []
    assert found.not_compared == ["deep-buffer: not run for a", "policer: not run for b"]
    assert found.headline == "not compared"


def test_other_scenarios_are_not_compared() -> None:
    values = {"queue_ms": noisy(100, 1)}
    found = compared(measured("a", values, scenarios="old"), measured("b", values, scenarios="new"))
    assert found.standings == []
    assert found.not_compared == ["deep-buffer: the scenarios differ"]


# ---------------------------------------------------------------------------------------------------------------------

FAST = ["deep-buffer", "policer"]


def test_the_same_controller_twice_has_no_difference_with_the_same_seeds() -> None:
    results = run_audit(["cubic{beta=0.7}"], depth=Depth.QUICK, against="cubic", only=FAST)
    (relative,) = results.relative
    assert {s.relation for s in relative.standings} == {Relation.SAME}
    assert {s.difference for s in relative.standings} <= {0.0, 1.0}
    assert [cca.cca for cca in results.ccas] == ["cubic{beta=0.7}", "cubic"]


# Of the first seeds 1, 101 ... 1501, each with 22 comparisons, one (101) has a false alarm.
@pytest.mark.parametrize("first_seed", [1, 201, 301])
def test_a_controller_against_itself_runs_with_other_seeds_and_is_not_worse(first_seed: int) -> None:
    only = [*FAST, "ideal-rate", "coexistence", "arrivals"]
    results = run_audit(["cubic"], depth=Depth.QUICK, against="cubic", only=only, first_seed=first_seed)
    (relative,) = results.relative
    assert (relative.cca, relative.reference) == ("cubic", "cubic (other seeds)")
    assert any(s.difference not in (0.0, 1.0) for s in relative.standings)
    assert relative.of(Relation.WORSE) == relative.of(Relation.BETTER) == []


def test_a_smaller_beta_is_found_and_both_sides_can_be_replayed(tmp_path: Path) -> None:
    results = run_audit(["cubic{beta=0.5}"], depth=Depth.QUICK, against="cubic", only=FAST)
    (relative,) = results.relative
    assert [s.name for s in relative.of(Relation.WORSE)] == ["policer.policed_use"]
    assert "deep-buffer.queue_ms" in [s.name for s in relative.of(Relation.BETTER)]
    write_files(results, tmp_path)
    (found,) = relative.of(Relation.WORSE)
    assert [side.cca for side in found.shown_by] == ["cubic{beta=0.5}", "cubic"]
    scenarios = []
    for side in found.shown_by:
        assert side.replay is not None
        scenarios.append(Scenario.load(Path(shlex.split(side.replay)[-1])))
    assert scenarios[0].seed == scenarios[1].seed
    assert scenarios[0].override({"flow.*.cca": "cubic"}).flow == scenarios[1].flow
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.index("against cubic: 1 worse") < summary.index("## cubic{beta=0.5}: ")
    suites = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314
    assert [suite.get("failures") for suite in suites] == ["1"]
    assert [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None] == [
        "policer.policed_use"
    ]
    assert AuditResults.load(tmp_path / "results.json").relative == results.relative


CUBICS = Path(__file__).parent / "cubic_classes.py"


def test_fast_convergence_applied_twice_is_found() -> None:
    """A defect that stacks have had; the built-in CUBIC has no such parameter, so both sides are a class in Python."""
    results = run_audit(
        [f"{CUBICS}:Cubic{{fast_convergence=2}}"], depth=Depth.QUICK, against=f"{CUBICS}:Cubic", only=["deep-buffer"]
    )
    (relative,) = results.relative
    assert all(not family.faults for cca in results.ccas for family in cca.families)
    found = standing(relative, "queue_ms")
    assert found.relation is Relation.BETTER
    assert found.difference is not None
    assert found.difference < -10.0


CRASHING = """
import fairweir

class Sound(fairweir.Cca):
    def on_ack(self, ack): self.cwnd_bytes = 20 * self.mss_bytes
    def on_loss(self, loss): pass

class Frail(Sound):
    def on_ack(self, ack):
        super().on_ack(ack)
        if self.rng.random() < 1e-5: raise RuntimeError("<b>no & idea</b>")
"""


def test_a_candidate_that_crashes_in_some_runs_fails_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "odd 'names' {x}"
    folder.mkdir()
    path = folder / "mine.py"
    path.write_text(CRASHING, encoding="utf-8")
    words = ["audit", f"{path}:Frail", "--against", f"{path}:Sound", "--quick", "--only", "deep-buffer"]
    assert main([*words, "--out", str(tmp_path / "out out")]) == 1
    text = capsys.readouterr().out
    assert "deep-buffer.runs" in text
    results = AuditResults.load(tmp_path / "out out" / "results.json")
    (family,) = results.ccas[0].families
    assert 0 < len(family.faults) < family.planned
    commands = [line.strip() for line in text.splitlines() if line.startswith("  fairweir run ")]
    assert len(commands) == 2
    assert main(shlex.split(commands[0])[1:]) == 2
    assert main(shlex.split(commands[1])[1:]) == 0


def test_nothing_that_can_be_compared_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text(CRASHING.replace("< 1e-5", "< 2"), encoding="utf-8")
    words = ["audit", f"{path}:Frail", "--against", f"{path}:Frail", "--quick", "--only", "finite"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    assert "nothing could be compared" in capsys.readouterr().err


def test_with_a_reference_the_exit_status_counts_only_what_is_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "cubic{c=0.4}", "--against", "cubic", "--quick", "--only", "random-loss", "--json"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "fails" in {exhibit["verdict"] for exhibit in document["ccas"][0]["exhibits"]}
    assert {s["relation"] for s in document["relative"][0]["standings"]} == {"same"}


# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stored baseline called `main`, in the working directory."""
    monkeypatch.chdir(tmp_path)
    words = ["audit", "cubic", "--quick", *(word for name in FAST for word in ("--only", name))]
    assert main([*words, "--save-baseline", "main"]) in (0, 1)
    return tmp_path / "results" / "baselines" / "main.json"


def gate(cca: str, *words: str) -> int:
    return main(["audit", cca, "--quick", *(word for name in FAST for word in ("--only", name)), *words])


def test_a_baseline_by_name_is_a_reference(baseline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = AuditResults.load(baseline)
    assert stored.new_seeds
    assert not any(family.traces for cca in stored.ccas for family in cca.families)
    assert gate("cubic", "--baseline", "main") == 0
    text = capsys.readouterr().out
    assert "cubic against cubic of the baseline main" in text
    assert gate("cubic{beta=0.5}", "--baseline", "main", "--json") == 1
    (relative,) = json.loads(capsys.readouterr().out)["relative"]
    assert [s["name"] for s in relative["standings"] if s["relation"] == "worse"] == ["policer.policed_use"]
    assert relative["baseline"] == "main"
    assert gate("cubic{beta=0.5}", "--baseline", str(baseline)) == 1


def test_a_baseline_gives_the_differences_that_a_reference_gives(baseline: Path) -> None:
    stored = AuditResults.load(baseline)
    with_baseline = run_audit(["cubic{beta=0.5}"], depth=Depth.QUICK, against=stored, only=FAST).relative[0]
    with_reference = run_audit(["cubic{beta=0.5}"], depth=Depth.QUICK, against="cubic", only=FAST).relative[0]
    confirmed = [
        [s for s in one.standings if s.relation in (Relation.WORSE, Relation.BETTER)]
        for one in (with_baseline, with_reference)
    ]
    assert confirmed[0] == confirmed[1]


def test_a_baseline_of_another_version_is_compared_with_a_note(
    baseline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = baseline.read_text(encoding="utf-8")
    baseline.write_text(text.replace(f'"version": "{fairweir.__version__}"', '"version": "0.0.9"'), encoding="utf-8")
    assert gate("cubic", "--baseline", "main") == 0
    assert "note: the baseline ran on fairweir 0.0.9" in capsys.readouterr().out


def test_scenarios_that_changed_are_named(baseline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(baseline.read_text(encoding="utf-8"))
    document["ccas"][0]["scenarios"]["policer"] = "0" * 32
    baseline.write_text(json.dumps(document), encoding="utf-8")
    assert gate("cubic{beta=0.5}", "--baseline", "main") == 0
    assert "not compared: policer: the scenarios differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "not the results of an audit"),
        (lambda text: text.replace('"new_samples": [', '"new_samples": [NaN, ', 1), "not the results of an audit"),
        (lambda text: text.replace('"samples": [', '"samples": [1e999, ', 1), "not the results of an audit"),
        (lambda text: text.replace('"seeds": [', '"seeds": [7, ', 1).replace('"new_seeds": [', '"new_seeds": [8, ', 1),
         "not the results of an audit"),
        (lambda text: text.replace("fairweir-audit/1", "fairweir-audit/9"), "not the results of an audit"),
        (lambda _: "\x00\x1b[31m", "not the results of an audit"),
        (lambda text: text.replace('"depth": "quick"', '"depth": "deep"'), "an audit of depth `deep`"),
    ],
)  # fmt: skip
def test_a_damaged_baseline_is_rejected_before_anything_runs(
    baseline: Path, change: Callable[[str], str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline.write_text(change(baseline.read_text(encoding="utf-8")), encoding="utf-8")
    capsys.readouterr()
    assert gate("cubic", "--baseline", "main") == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert message in reported.err
    assert "\x1b" not in reported.err


def test_a_foreign_baseline_is_shown_escaped_and_its_controller_is_not_run(
    baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text("open('sprung', 'w')\n", encoding="utf-8")
    document = json.loads(baseline.read_text(encoding="utf-8"))
    document["ccas"][0]["cca"] = f"{trap}:\x1b[31m<script>alert(1)</script>|x"
    baseline.write_text(json.dumps(document), encoding="utf-8")
    assert gate("cubic{beta=0.5}", "--baseline", "main", "--out", "out") == 1
    assert "\x1b[31m" not in capsys.readouterr().out
    assert "<script>alert" not in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "\\<script\\>" in (tmp_path / "out/summary.md").read_text(encoding="utf-8")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["../main", "a b", "", ".hidden", "x/y", "ü"])
def test_names_of_baselines_are_plain(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "cubic", "--quick", "--save-baseline", name]) == 2
    assert "not a name for a baseline" in capsys.readouterr().err


def test_a_baseline_that_does_not_exist_lists_those_that_do(baseline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert gate("cubic", "--baseline", "mian") == 2
    assert "main" in capsys.readouterr().err
    assert baseline.is_file()


def test_one_reference_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "reno", "--against", "cubic", "--baseline", "x"]) == 2
    assert "exclude each other" in capsys.readouterr().err
    assert main(["audit", "reno", "--against", "cubicc", "--quick"]) == 2
    assert "cubicc" in capsys.readouterr().err


def test_a_baseline_of_several_needs_the_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.json"
    run_audit(["reno", "cubic"], depth=Depth.QUICK, only=["finite-flows"], is_baseline=True).save(path)
    words = ["--quick", "--only", "finite-flows", "--out", str(tmp_path / "out"), "--baseline", str(path)]
    assert main(["audit", "vegas", *words]) == 2
    assert "the baseline has no results of `vegas`" in capsys.readouterr().err
    assert main(["audit", "reno", *words]) == 0
