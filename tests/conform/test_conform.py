"""``fairweir conform``: verdicts with known answers, mechanisms, refusals, resumption."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.summaries import filled

from fairweir.agree.matrix import AS_IN_KERNEL
from fairweir.cli.main import main
from fairweir.conform.judge import Difference, Standing
from fairweir.conform.mechanisms import explain
from fairweir.conform.plan import pairs, shipped_scenarios
from fairweir.conform.references import KERNEL_REFERENCES, missing_programs, references
from fairweir.conform.results import Conformance
from fairweir.conform.runner import conform
from fairweir.conform.side import Side
from fairweir.errors import CcaError
from fairweir.play.batch import Archive, TaskResult
from fairweir.scenario.model import Scenario

CUBICS = Path(__file__).parents[1] / "audit" / "cubic_classes.py"
SEEDS = 5


@pytest.fixture(scope="module")
def short() -> list[Scenario]:
    """Return two scenarios of 40 s, whose sawtooths are short."""
    return [
        Scenario.from_dict(
            {
                "name": name,
                "duration": "40s",
                "warmup": "8s",
                "link": {"bottleneck": {"rate": "10Mbps", "buffer": buffer}},
                "flow": [{"cca": "reno", "rtprop": "30ms"}],
            }
        )
        for name, buffer in (("one", "1bdp"), ("deep", "4bdp"))
    ]


def compared(cca: str, reference: str, scenarios: list[Scenario], **options: Any) -> Conformance:
    sides = [(Side.of(cca), Side.of(reference))]
    (found,) = conform(sides, scenarios, seeds=SEEDS, **options).comparisons
    return found


def test_a_controller_conforms_to_itself_with_other_seeds(short: list[Scenario]) -> None:
    sides = [(Side.of("cubic"), Side.of("cubic"))]
    (found,) = conform(sides, shipped_scenarios(quick=True), seeds=10).comparisons
    assert [cell.standing for cell in found.cells] == [Standing.CONFORMS] * 4
    assert found.standing is Standing.CONFORMS
    for pair in pairs(Side.of("cubic"), Side.of("cubic"), short, SEEDS):
        assert not {task.key for task in pair.candidate} & {task.key for task in pair.reference}


def test_a_smaller_beta_differs_and_its_value_is_measured(short: list[Scenario]) -> None:
    found = compared("cubic{beta=0.5}", "cubic", short)
    assert found.standing is Standing.DIFFERS
    (decrease,) = [one for one, _ in found.mechanisms if one.measure == "decrease"]
    assert decrease.candidate.value == pytest.approx(0.5, abs=0.02)
    assert decrease.reference.value == pytest.approx(0.7, abs=0.02)
    assert "twice" in decrease.cause


def test_fast_convergence_applied_twice_differs() -> None:
    (deep, *_) = shipped_scenarios(quick=True)
    found = compared(f"{CUBICS}:Cubic{{fast_convergence=2}}", f"{CUBICS}:Cubic", [deep])
    alone = found.cells[0]
    # Its envelope is nearly the same: the mean delay shows that it stays longer at the bottom.
    assert alone.standing is Standing.DIFFERS
    assert alone.difference is not None
    assert alone.delay_ms is not None
    assert abs(alone.difference.value) < 0.1
    assert alone.delay_ms.is_outside
    assert alone.delay_ms.value < 0
    assert any(one.measure == "regain_s" and one.candidate.value > one.reference.value for one in alone.mechanisms)


def test_hystart_is_seen_where_a_flow_is_alone(short: list[Scenario]) -> None:
    found = compared('cubic{hystart="linux"}', "cubic", short[1:])
    seen = {one.measure: one for one in found.cells[0].mechanisms}
    assert seen["exits_before_loss"].candidate.value == 1.0
    assert seen["exits_before_loss"].reference.value == 0.0
    assert seen["exits_before_loss"].cause.startswith("HyStart")
    assert not {"exits_before_loss", "first_loss_bdp"} & {one.measure for one in found.cells[1].mechanisms}


def test_a_stack_that_ignores_its_pacing_rate_differs(short: list[Scenario]) -> None:
    found = compared("quinn/bbr", "bbr", short[:1])
    assert found.standing is Standing.DIFFERS
    assert found.cca_version
    (pacing,) = [one for one, _ in found.mechanisms if one.measure == "pacing"]
    assert pacing.candidate.value > 1 > pacing.reference.value
    assert "ignored" in pacing.cause


def test_a_difference_is_judged_by_its_whole_interval() -> None:
    def at(lo: float, hi: float, *, one_sided: bool = False) -> tuple[bool, bool]:
        one = Difference(value=(lo + hi) / 2, lo=lo, hi=hi, allowed=0.1, is_one_sided=one_sided)
        return one.is_within, one.is_outside

    assert at(-0.05, 0.05) == (True, False)
    assert at(-0.15, 0.05) == (False, False)
    assert at(-0.3, -0.2) == at(0.2, 0.3) == (False, True)
    assert at(0.2, 0.3, one_sided=True) == (True, False)


def test_mechanisms_need_a_relevant_and_significant_difference() -> None:
    def decreases(*values: float) -> list[dict[str, float]]:
        return [{"decrease": value} for value in values]

    reference = decreases(0.70, 0.71, 0.69, 0.70)
    assert explain(decreases(0.71, 0.72, 0.70, 0.71), reference, is_alone=True) == []
    assert explain(decreases(0.2, 0.99, 0.4, 0.9), reference, is_alone=True) == []
    assert explain(decreases(0.5), reference, is_alone=True) == []
    (found,) = explain(decreases(0.98, 0.99, 1.0, 1.0), reference, is_alone=True)
    assert "rollback" in found.cause
    assert found.text.startswith("cwnd falls to 0.992 of its value per loss event, reference 0.700")


# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("conform", "no controller to compare"),
        ("conform cubic", "no reference"),
        ("conform cubik --to cubic", "no congestion controller `cubik`"),
        ("conform cubic --to cubik", "no congestion controller `cubik`"),
        ("conform cubic --to kernel:cubik", "no congestion controller `cubik`"),
        ("conform quic:cubic --to cubic", "not the controller of a whole QUIC stack: `quic:cubic`"),
        ("conform kernel:quinn/cubic --to cubic", "the kernel cannot run the controller of a QUIC stack"),
        ("conform kernel:mine.py:Mine --to cubic", "no such file"),
        ("conform cubic --to cubic{beta=}", "parameters are not TOML"),
        ("conform cubic{gamma=1} --to cubic --quick", "gamma"),
        ("conform cubic --to cubic --scenarios nowhere", "no scenarios"),
        ("conform cubic --to cubic --table", "--table chooses the controllers"),
        ("conform cubic --to cubic --kernel", "--kernel belongs to --table"),
        ("conform cubic --to cubic --seeds 2", "invalid value for '--seeds'"),
    ],
)
def test_bad_input_is_one_error(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_a_scenario_with_two_flows_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'duration = "5s"\nlink.b = { rate = "12Mbps" }\nflow = [{ cca = "reno", rtprop = "20ms", count = 2 }]\n'
    (tmp_path / "two.toml").write_text(text, encoding="utf-8")
    assert main(["conform", "cubic", "--to", "cubic", "--scenarios", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert "the scenario must have one flow" in capsys.readouterr().err


def test_the_kernel_needs_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("fairweir.play.kernel.find_helper", lambda: tmp_path)
    assert main(["conform", "cubic", "--to", "kernel:cubic", "--quick", "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert "needs root" in err
    # 4 scenarios and arrangements, 5 runs of 20 s; the cost is stated before the first run.
    assert "runs on the kernel take 7 min 0 s" in err


def test_a_crashing_candidate_is_not_run_and_nothing_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "import fairweir", "class Frail(fairweir.Cca):", "    def on_ack(self, ack): raise RuntimeError('broken')"
    (tmp_path / "mine.py").write_text("\n".join([*lines, "    def on_loss(self, loss): pass"]), encoding="utf-8")
    words = ["conform", f"{tmp_path}/mine.py:Frail", "--to", "reno", "--quick", "--seeds", "3"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    caught = capsys.readouterr()
    assert "no scenario could be judged" in caught.err
    assert "broken" in caught.err
    assert "not run" in caught.out


def test_a_late_kernel_run_is_not_judged(short: list[Scenario], monkeypatch: pytest.MonkeyPatch) -> None:
    late = {"judged": False, "reason": "packets were late", "release_error_us": {"p99": 9000.0}}
    played: list[str] = []

    def play_all(tasks: Any, archive: Archive, **options: Any) -> dict[str, TaskResult]:
        from fairweir.play.batch import Task, play

        found = {}
        for task in tasks:
            summary = play(Task(task.scenario, "sim", task.interval, columns=task.columns))
            played.append(task.world)
            more = {"emulator": late} if task.world == "kernel" else {}
            found[task.key] = TaskResult(filled({**summary.document, **more}))
        return found

    monkeypatch.setattr("fairweir.conform.runner.play_all", play_all)
    report = conform([(Side.of("cubic"), Side.of("kernel:cubic"))], short[:1], seeds=3)
    (found,) = report.comparisons
    assert {cell.standing for cell in found.cells} == {Standing.NOT_JUDGED}
    assert found.cells[0].why.startswith("packets were late")
    assert found.share is None
    assert report.facts["kernel runs"] == "6, of which 6 are not judged"
    assert played.count("kernel") == played.count("sim") == 6


# ---------------------------------------------------------------------------------------------------------------------


def test_the_command_writes_all_files_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, short: list[Scenario]
) -> None:
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "one.toml").write_text(short[0].to_toml(), encoding="utf-8")
    words = ["conform", "cubic{beta=0.5}", "--to", "cubic", "--scenarios", str(folder), "--seeds", "3"]
    words += ["--out", str(tmp_path / "out"), "--json"]
    assert main(words) == 1
    document = json.loads(capsys.readouterr().out)
    (one,) = document["comparisons"]
    assert (document["outcome"], one["standing"]) == ("fails", "differs")
    standings = [cell["standing"] for cell in one["cells"]]
    assert one["counts"]["differs"] == standings.count("differs") >= 1
    stored = json.loads((tmp_path / "out" / "conform.json").read_text(encoding="utf-8"))
    assert stored == document
    page = (tmp_path / "out" / "conform.html").read_text(encoding="utf-8")
    assert "cubic{beta=0.5} compared with cubic" in page
    with (tmp_path / "out" / "conform.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["scenario"], row["arrangement"], row["standing"]) for row in rows] == [
        ("one", "alone", standings[0]),
        ("one", "competing", standings[1]),
    ]
    assert float(rows[0]["conformance"]) == one["cells"][0]["conformance"]["value"]

    def no_run(task: Any) -> None:
        raise AssertionError("a stored run is repeated")

    monkeypatch.setattr("fairweir.play.batch.play", no_run)
    assert main(words) == 1
    assert json.loads(capsys.readouterr().out)["comparisons"] == document["comparisons"]


def test_every_side_of_the_table_exists() -> None:
    for cca, reference in {**references(), **KERNEL_REFERENCES}.items():
        assert Side.of(cca).label == cca
        assert Side.of(reference).label == reference


def test_the_table_has_stacks_whose_program_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRWEIR_QUICHE", "/none")
    assert "quic:quiche/cubic" not in references()
    assert any("FAIRWEIR_QUICHE" in line for line in missing_programs())
    monkeypatch.setenv("FAIRWEIR_QUICHE", sys.executable)
    assert references()["quic:quiche/cubic"] == "cubic"
    assert "quiche/cubic" not in references(), "quiche has no controllers that run in the simulator's transport"
    assert "s2n-quic/cubic" in references()
    assert not missing_programs()


def test_competing_flows_have_the_reference_where_the_world_has_it() -> None:
    def competitor(cca: str, reference: str) -> Any:
        return Side.of(cca).competitor(Side.of(reference))

    assert competitor("quinn/cubic", "cubic") == "cubic"
    assert competitor("cubic{beta=0.5}", "kernel:cubic") == AS_IN_KERNEL["cubic"]
    assert competitor("kernel:cubic", "cubic") == "cubic"
    assert competitor("quic:quinn/cubic", "cubic") == "quinn/cubic"
    assert competitor("quic:quinn/bbr", "quic:quinn/cubic") == "quinn/cubic"
    with pytest.raises(CcaError):
        Side.of("quic:s2n-quic/cubic")


def test_shipped_scenarios_have_one_flow() -> None:
    names = [scenario.name for scenario in shipped_scenarios()]
    assert names == ["deep", "medium", "near", "shallow"]
    assert [scenario.name for scenario in shipped_scenarios(quick=True)] == names[::2]
