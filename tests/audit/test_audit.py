"""Small complete audits of well-behaved and misbehaving CCAs, from Python and from the command line."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fairweir.audit import Depth, battery, run_audit
from fairweir.audit.jobs import Job
from fairweir.audit.results import AuditResults
from fairweir.audit.runner import InterruptedAuditError
from fairweir.audit.stored_runs import FOLDER, StoredRuns
from fairweir.cli.main import main
from fairweir.errors import CcaError, ConfigError
from fairweir.judging.outcome import Outcome
from fairweir.judging.summary import Summary
from fairweir.play import pool
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

ONE_EXHIBIT = ["finite-flows"]

PYTHON_CCAS = """
import fairweir, math, os, time

class Fixed(fairweir.Cca):
    def on_ack(self, ack): pass
    def on_loss(self, loss): pass

class Nan(Fixed):
    def on_ack(self, ack): self.cwnd_bytes = math.nan

class Raises(Fixed):
    def on_ack(self, ack): raise RuntimeError("no idea what to do")

class Loops(Fixed):
    def on_ack(self, ack):
        while ack.now_ms > 0: pass

class Dies(Fixed):
    def on_ack(self, ack): os._exit(3)
"""


@pytest.fixture
def python_cca(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PYTHON_CCAS)
    return path


def numbers(results: AuditResults) -> Any:
    document = results.model_dump()
    for key in ("wall_s", "command", "environment"):
        document.pop(key)
    return document


def test_an_audit_gives_the_same_numbers_on_any_number_of_processes() -> None:
    runs = [run_audit(["reno"], depth=Depth.QUICK, only=["finite-flows", "policer"], workers=n) for n in (1, 2)]
    assert numbers(runs[0]) == numbers(runs[1])
    assert runs[0].complete
    assert {e.family for e in runs[0].ccas[0].exhibits} == {"finite-flows", "policer"}
    slowdown = runs[0].ccas[0].exhibit("finite-flows.slowdown")
    assert slowdown is not None
    assert slowdown.verdict is Outcome.HOLDS
    assert slowdown.value == pytest.approx(1.0, abs=0.05)


def test_several_ccas_stand_side_by_side() -> None:
    results = run_audit(["reno", "cubic", "reno"], depth=Depth.QUICK, only=ONE_EXHIBIT)
    assert [cca.cca for cca in results.ccas] == ["reno", "cubic"]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [("Nan", "controller", "nan"), ("Raises", "controller", "no idea what to do"), ("Dies", "crash", "exit code 3")],
)
def test_a_cca_that_misbehaves_fails_its_exhibits_and_the_rest_continues(
    python_cca: Path, name: str, kind: str, message: str
) -> None:
    results = run_audit([f"{python_cca}:{name}", "reno"], depth=Depth.QUICK, only=ONE_EXHIBIT)
    bad, good = results.ccas
    assert (bad.verdict, good.verdict) == (Outcome.FAILS, Outcome.HOLDS)
    assert {fault.kind for fault in bad.families[0].faults} == {kind}
    assert message in bad.exhibits[0].why.lower()
    assert bad.exhibits[0].scenario_toml is not None
    assert Scenario.from_toml(bad.exhibits[0].scenario_toml).flow[0].cca.name == f"{python_cca}:{name}"


def test_a_cca_that_loops_is_given_up(python_cca: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairweir.audit.runner.CALIBRATION_TIMEOUT_S", 1.0)
    quick = battery.BUDGETS[Depth.QUICK]
    impatient = dataclasses.replace(quick, timeout_s=1.0)
    monkeypatch.setattr("fairweir.audit.runner.BUDGETS", {**battery.BUDGETS, Depth.QUICK: impatient})
    results = run_audit([f"{python_cca}:Loops"], depth=Depth.QUICK, only=ONE_EXHIBIT)
    (family,) = results.ccas[0].families
    assert {fault.kind for fault in family.faults} == {"timeout"}
    assert len(family.faults) == family.planned == quick.seeds
    assert results.ccas[0].verdict is Outcome.FAILS


def test_points_too_long_for_python_are_left_out_and_named(python_cca: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairweir.audit.world.PYTHON_MAX_PACKETS", 50)
    results = run_audit([f"{python_cca}:Fixed"], depth=Depth.QUICK, only=ONE_EXHIBIT)
    assert results.ccas[0].families == []
    assert results.ccas[0].exhibits == []
    assert results.ccas[0].left_out == {"finite-flows": "more packets than a Python class can process"}


@pytest.mark.parametrize("cca", ["bbrr", "nowhere.py:Mine"])
def test_a_cca_that_does_not_exist_is_bad_input(cca: str) -> None:
    with pytest.raises(CcaError):
        run_audit([cca], depth=Depth.QUICK, only=ONE_EXHIBIT)


def test_bad_questions_are_rejected() -> None:
    with pytest.raises(ConfigError, match="no exhibit called"):
        run_audit(["reno"], only=["everything"])
    with pytest.raises(ConfigError, match="at least two seeds"):
        run_audit(["reno"], seeds=1)
    with pytest.raises(ConfigError, match="no CCA"):
        run_audit([])


def test_an_interrupted_audit_keeps_what_it_has() -> None:
    def stop(what: str, part: float) -> None:
        if part > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedAuditError) as stopped:
        run_audit(["reno"], depth=Depth.QUICK, only=["finite-flows", "policer"], workers=1, on_progress=stop)
    results = stopped.value.results
    assert not results.complete
    assert 0 < results.runs < 6


def test_an_interrupted_audit_resumes_from_its_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Any] = []
    iter_jobs = pool.iter_jobs

    def recorded(fn: Any, jobs: Iterable[Job], **options: Any) -> Iterator[Any]:
        for ended in iter_jobs(fn, jobs, **options):
            played.append(ended.job)
            yield ended

    def stop(what: str, part: float) -> None:
        if part > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr(pool, "iter_jobs", recorded)
    audit = partial(run_audit, ["reno"], depth=Depth.QUICK, only=["finite-flows", "policer"], workers=1)
    whole = audit()
    expected = {job for job in played if isinstance(job, Job)}
    played.clear()
    with pytest.raises(InterruptedAuditError):
        audit(resume_in=tmp_path, on_progress=stop)
    finished = {job for job in played if isinstance(job, Job)}
    assert 0 < len(finished) == len(list((tmp_path / FOLDER).iterdir()))
    # A damaged file is a missing run.
    damaged = min((tmp_path / FOLDER).iterdir())
    damaged.write_text("{", encoding="utf-8")
    played.clear()
    resumed = audit(resume_in=tmp_path)
    again = {job for job in played if isinstance(job, Job)}
    assert len(again & finished) == 1
    assert again | finished == expected
    assert numbers(resumed) == numbers(whole)
    assert list(tmp_path.iterdir()) == []


def test_runs_of_a_search_that_was_interrupted_are_not_repeated(tmp_path: Path) -> None:
    scenarios = [dumbbell("reno", duration="2s", seed=seed).to_dict() for seed in (1, 2, 3)]
    stored = StoredRuns(tmp_path)
    first = stored.on_all_cores(workers=1, timeout_s=60.0, world="sim")(scenarios[:2])
    for path in (tmp_path / FOLDER).iterdir():
        document = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**document, "wall_s": -1.0}), encoding="utf-8")
    again = stored.on_all_cores(workers=1, timeout_s=60.0, world="sim")(scenarios)
    assert [one.document["wall_s"] < 0 for one in again if isinstance(one, Summary)] == [True, True, False]
    assert [one.flows for one in again[:2] if isinstance(one, Summary)] == [
        one.flows for one in first if isinstance(one, Summary)
    ]


def test_the_command_writes_everything_and_sets_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["audit", "reno", "--quick", "--only", "random-loss", "--out", str(out), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    (cca,) = printed["ccas"]
    assert cca["verdict"] == "fails"
    for exhibit in cca["exhibits"]:
        assert {"name", "metric", "value", "lo", "hi", "unit", "verdict", "scenario"} <= set(exhibit)
        assert exhibit["verdict"] != "fails" or Scenario.load(out / exhibit["scenario"]).duration
    assert {p.name for p in out.iterdir()} == {"results.json", "junit.xml", "report.html", "summary.md", "failing"}
    assert AuditResults.load(out / "results.json").complete


def test_a_baseline_makes_it_a_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "reno", "--quick", "--only", "random-loss", "--out", str(tmp_path / "a")]
    assert main(words) == 1
    baseline = tmp_path / "a" / "results.json"
    again = [
        "audit",
        "reno",
        "--quick",
        "--only",
        "random-loss",
        "--out",
        str(tmp_path / "b"),
        "--baseline",
        str(baseline),
    ]
    assert main(again) == 0
    assert "against the baseline: nothing changed" in capsys.readouterr().out
    better = AuditResults.load(baseline)
    exhibit = better.ccas[0].exhibits[0]
    exhibit.value, exhibit.lo, exhibit.hi, exhibit.verdict = 1.0, 1.0, 1.1, Outcome.HOLDS
    better.save(baseline)
    assert main(again) == 1
    assert f"{exhibit.name} worsened" in capsys.readouterr().out


def test_a_baseline_must_be_of_the_same_battery_and_ccas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    run_audit(["reno"], depth=Depth.QUICK, only=ONE_EXHIBIT).save(path)
    assert main(["audit", "reno", "--out", str(tmp_path), "--baseline", str(path)]) == 2
    assert "the baseline is an audit of depth `quick`, and this audit has depth `default`" in capsys.readouterr().err
    assert main(["audit", "cubic", "--quick", "--out", str(tmp_path), "--baseline", str(path)]) == 2
    assert "hint: it has reno" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reno", "--quick", "--deep"], "--quick and --deep exclude each other"),
        (["reno", "--only", "nothing"], "no exhibit called `nothing`"),
        (["reno", "--baseline", "none.json"], "no such file: `none.json`"),
        (["bbrr", "--quick", "--only", "policer"], "bbrr"),
    ],
)
def test_bad_input_is_reported_in_one_error(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *words]) == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert reported.err.startswith("error: ")
    assert message in reported.err
