"""Messages of long commands on stderr."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.summaries import filled

from fairweir.cli.progress import meter, on_played
from fairweir.play.batch import Task, TaskResult
from fairweir.play.process import PROGRESS_VARIABLE
from fairweir.scenario.dumbbell import dumbbell


def test_an_interruption_prints_where_finished_work_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), meter("work", kept_in=Path("kept")):
        raise KeyboardInterrupt
    assert "finished runs are stored in kept/; run the same command to resume" in capsys.readouterr().err


def test_a_failed_run_is_reported_and_the_bar_moves_within_its_part(capsys: pytest.CaptureFixture[str]) -> None:
    task = Task(dumbbell("reno", name="pair"))
    with meter("work") as report:
        on_played(report, start=0.5)(task, TaskResult(None, "it looped"), 1.0, 2.0)
        assert report.bar.tasks[0].completed == pytest.approx(0.75)
        on_played(report, name=lambda _: "mine")(task, TaskResult(filled({}), ""), 2.0, 2.0)
        assert report.bar.tasks[0].completed == pytest.approx(1.0)
    assert capsys.readouterr().err.splitlines() == ["pair, sim: it looped"]


def test_without_a_terminal_lines_report_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while no run ends, as during a long one."""
    monkeypatch.setattr("fairweir.cli.progress.LINE_INTERVAL_S", 0.02)
    with meter("audit") as report:
        report("cubic: \x1b[31mideal-rate", 0.25)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2
    assert all("ideal-rate: 25 % after 0 s" in line and "\x1b" not in line for line in lines)


def test_jobs_are_counted() -> None:
    with meter("work", counts=True) as report:
        report("first")
        report.count(3, 10)
        assert (report.bar.tasks[0].completed, report.bar.tasks[0].total) == (3, 10)


def test_a_program_that_started_the_command_reads_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    monkeypatch.setenv(PROGRESS_VARIABLE, str(writer))
    with meter("work") as report:
        report("first\x1b", 0.25)
        report("unknown")
    monkeypatch.delenv(PROGRESS_VARIABLE)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert lines == [{"what": "first\x1b", "part": 0.25}, {"what": "unknown", "part": 0.25}]


def test_a_reader_that_has_ended_does_not_stop_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setenv(PROGRESS_VARIABLE, str(writer))
    with meter("work") as report:
        report("first", 0.25)
    os.close(writer)
