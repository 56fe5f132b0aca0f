"""Audits of whole QUIC stacks: two kinds of hosts, references on the same hosts, stacks that fail or lack a feature."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairweir.audit import AuditResults, Depth, run_audit, world
from fairweir.audit.baseline import save_baseline_file
from fairweir.audit.battery import BUDGETS
from fairweir.audit.conductor import Conductor
from fairweir.audit.contest import scenarios_of
from fairweir.audit.exhibits.family import Subject
from fairweir.audit.jobs import Job
from fairweir.audit.report import render_report
from fairweir.cli.main import main
from fairweir.documents.filenames import slug
from fairweir.errors import ConfigError, ProgramError
from fairweir.play import quic
from fairweir.play.pool import Failed
from fairweir.scenario.model import Scenario

ONE_EXHIBIT = ["finite-flows"]
AT_ONCE, AT_INTERVALS = "quinn/cubic (wake at once)", "quinn/cubic (wake 1ms)"


@pytest.fixture(scope="module")
def audited() -> AuditResults:
    return run_audit("quinn/cubic", depth=Depth.QUICK, only=ONE_EXHIBIT, seeds=2, on="quic")


def test_a_stack_is_audited_on_both_kinds_of_hosts(audited: AuditResults) -> None:
    assert audited.complete
    assert audited.world == "quic"
    assert [(c.cca, c.controller, c.wake) for c in audited.ccas] == [
        (AT_ONCE, "quinn/cubic", "0s"),
        (AT_INTERVALS, "quinn/cubic", "1ms"),
    ]
    values = [c.family("finite-flows").curves[0].points[0].value for c in audited.ccas]  # type: ignore[union-attr]
    assert values[0] != values[1]
    assert audited.environment["quinn"] in audited.setting
    assert not audited.profiles, "the known CCAs were measured in the simulator"
    assert AuditResults.model_validate_json(audited.to_json()) == audited


def test_table_summary_and_report_print_the_hosts(
    audited: AuditResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    from fairweir.audit.table import show

    show(audited, Console(width=100))
    audited.report(tmp_path)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    for text in (capsys.readouterr().out, summary, render_report(audited)):
        assert re.search(r"World quic: whole QUIC stacks in virtual time \((noq [\d.]+, )?quinn \d", text)
        assert AT_INTERVALS in text
    assert "<h1>Audit of quinn/cubic in QUIC stacks</h1>" in render_report(audited)
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["ccas"][1]["wake"] == "1ms"


def test_candidate_and_reference_are_compared_on_the_same_hosts() -> None:
    results = run_audit("quinn/newreno", against="reno", depth=Depth.QUICK, only=ONE_EXHIBIT, seeds=2, on="quic")
    assert [(one.cca, one.reference) for one in results.relative] == [
        ("quinn/newreno (wake at once)", "reno (wake at once)"),
        ("quinn/newreno (wake 1ms)", "reno (wake 1ms)"),
    ]
    assert all(one.standings and not one.not_compared for one in results.relative)


def test_the_scenarios_have_the_hosts_of_their_subject() -> None:
    at_once, at_intervals = world.on_hosts(Subject("quinn/cubic", "quinn/cubic", "3bdp", world="quic"))
    jobs = [Job(one, "finite-flows", Depth.QUICK, 0, 1, 0.5) for one in (at_once, at_intervals)]
    assert [job.scenario().host.wake for job in jobs] == list(world.WAKES)  # type: ignore[union-attr]
    assert {flow.rwnd for job in jobs for flow in job.scenario().flow} == {world.RWND}
    assert [one.stem for one in (at_once, at_intervals)] == ["quinn-cubic", "quinn-cubic"]
    assert [slug(one.name) for one in (at_once, at_intervals)] == ["quinn-cubic-wake-at-once", "quinn-cubic-wake-1ms"]
    prints = {scenarios_of("finite-flows", Depth.QUICK, one) for one in (at_once, at_intervals)}
    simulated = Subject("cubic", "cubic", "3bdp")
    assert len(prints | {scenarios_of("finite-flows", Depth.QUICK, simulated)}) == 3


def conductor(subject: Subject) -> Conductor:
    return Conductor([subject], Depth.QUICK, BUDGETS[Depth.QUICK], ONE_EXHIBIT, {})


def test_what_a_stack_does_not_have_is_left_out_and_what_fails_is_its_fault() -> None:
    subject = world.on_hosts(Subject("quinn/cubic", "quinn/cubic", "3bdp", world="quic"))[0]
    audit = conductor(subject)
    jobs = audit.jobs()
    refusal = ConfigError("QUIC has no such option", key="flow.0.sack")
    for job in jobs:
        audit._absorb(Failed(0, job, "error", str(refusal), refusal))
    (found,) = audit.document(complete=True, wall_s=0.0, command="").ccas
    assert (found.families, found.left_out) == ([], {"finite-flows": "QUIC has no such option"})

    audit = conductor(subject)
    jobs = audit.jobs()
    failure = ProgramError("flow 1: the stack failed: too many gaps")
    audit._absorb(Failed(0, jobs[0], "error", str(failure), failure))
    (found,) = audit.document(complete=True, wall_s=0.0, command="").ccas
    (fault,) = found.families[0].faults
    assert (fault.kind, fault.message) == ("stack", "flow 1: the stack failed: too many gaps")
    assert found.verdict == "fails"


def test_runs_that_take_a_stack_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "QUIC_MAX_PACKETS", 10)
    results = run_audit("quinn/cubic", depth=Depth.QUICK, only=ONE_EXHIBIT, seeds=2, on="quic")
    assert (results.runs, results.complete) == (0, True)
    assert [(cca, what) for cca, what, _ in results.left_out] == [
        (AT_ONCE, "finite-flows"),
        (AT_INTERVALS, "finite-flows"),
    ]
    assert all("QUIC stack" in why for _, _, why in results.left_out)


PROGRAM = """#!{python}
import json, os, signal, sys
if sys.argv[1] == "run":
    text = sys.stdin.read()
    config = json.loads(text)
    seed, host = config["seed"], config.get("host")
    if len(config["flows"]) > 1 and seed == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if len(config["flows"]) > 1 and seed == 2:
        print(json.dumps({{"error": {{"message": "flow 3: the stack failed: too many gaps"}}}}), file=sys.stderr)
        sys.exit(2)
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    os.dup2(read, 0)
os.execv({program!r}, [{program!r}, *sys.argv[1:]])
"""


def test_a_program_that_crashes_is_a_fault_of_the_run_and_the_audit_goes_on(tmp_path: Path) -> None:
    broken = tmp_path / "fairweir-quic"
    broken.write_text(PROGRAM.format(python=sys.executable, program=str(quic.PROGRAM.find())), encoding="utf-8")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    words = [
        "audit",
        "quinn/cubic",
        "--on",
        "quic",
        "--quick",
        "--only",
        "finite-flows",
        "--seeds",
        "3",
        "--out",
        "out",
    ]
    done = subprocess.run(
        [Path(sys.executable).parent / "fairweir", *words, "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FAIRWEIR_QUIC": str(broken)},
    )
    assert done.returncode == 1, done.stderr
    results = AuditResults.model_validate_json(done.stdout)
    assert results.complete
    for cca in results.ccas:
        (family,) = cca.families
        found = {(fault.seed, fault.kind, fault.message) for fault in family.faults}
        assert {seed for seed, *_ in found} == {1, 2}
        assert (2, "stack", "flow 3: the stack failed: too many gaps") in found
        assert any(seed == 1 and "signal 11" in message for seed, _, message in found)
        assert family.runs > 0
    assert "--on quic" in (results.ccas[0].exhibits[0].replay or "")
    (file, *_) = sorted((tmp_path / "out" / "failing").glob("*wake-1ms*.toml"))
    assert Scenario.load(file).host.wake == "1ms"  # type: ignore[union-attr]


def test_worlds_are_not_mixed(audited: AuditResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "quinn/cubic", "--on", "quic", "--quick", "--save-known", f"{tmp_path}/known.json"]) == 2
    assert "the known CCAs are those of the simulator" in capsys.readouterr().err
    file = tmp_path / "before.json"
    save_baseline_file(audited, file)
    assert main(["audit", "quinn/cubic", "--quick", "--baseline", str(file), "--out", f"{tmp_path}/out"]) == 2
    assert "the baseline ran in the world `quic`, and this audit runs in `sim`" in capsys.readouterr().err
    confirmed = audited.model_copy(update={"new_seeds": [10_001, 10_002]})
    with pytest.raises(ConfigError, match="the baseline ran in the world `quic`"):
        run_audit("quinn/cubic", depth=Depth.QUICK, against=confirmed)


def test_a_python_class_cannot_be_audited_in_a_stack(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import fairweir\n\n\nclass Mine(fairweir.Cca):\n    pass\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot run a Python class"):
        run_audit(f"{tmp_path}/mine.py:Mine", depth=Depth.QUICK, only=ONE_EXHIBIT, on="quic")
