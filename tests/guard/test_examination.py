"""Forests applied to runs not used in training, simulated and captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.summaries import filled

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.guard import kernel_examples
from fairweir.guard.configurations import MIXES, Network, PlannedRun, curriculum
from fairweir.guard.examination import examine, questions
from fairweir.guard.examples import Library
from fairweir.guard.kernel_examples import gather_on_kernel
from fairweir.play import run as running
from fairweir.play.run import Run
from fairweir.units import Duration

LENGTH = Duration.from_s(8)
ORIGIN = {"mix": "reno-cubic", "runs": 10, "duration_s": LENGTH.s, "seed": 1}
#: A forest whose class is always near.
NEAR = {"trained_on": ORIGIN, "features": ["rtt_us"], "baseline": [0.0, 1.0, 0.0], "trees": []}


def planned_runs() -> list[PlannedRun]:
    return [PlannedRun(MIXES["reno-cubic"][0], Network(8, 40, 2, 1), LENGTH, seed) for seed in (1, 2)]


def test_networks_that_were_learnt_from_are_not_asked_about() -> None:
    learnt = {one.network for one in curriculum(MIXES["reno-cubic"], 10, LENGTH, 1)}
    asked = questions(NEAR, 10, LENGTH, 2)
    assert asked
    assert not learnt & {one.network for one in asked}
    assert questions(NEAR, 10, LENGTH, 1) == []


def test_an_examination_counts(tmp_path: Path) -> None:
    sheet = examine(NEAR, planned_runs(), 50, data=tmp_path, workers=1)
    below, near, above = (sum(row) for row in sheet.confusion)
    assert below + near + above == 100
    assert sheet.accuracy == near / 100
    assert sheet.of_guess == max(below, near, above) / 100
    assert [row[1] for row in sheet.confusion] == [below, near, above]
    assert sheet.by_part == {"reno vs cubic, random": (sheet.accuracy, 100)}
    assert len(list(tmp_path.iterdir())) == 2


def test_runs_on_the_kernel_are_captured_and_late_ones_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = []

    def play(scenario: Any, **how: Any) -> Run:
        assert how["on"] == "kernel"
        assert how["options"].windows == "autotuned"
        record = running.run(scenario, capture=how["capture"])
        played.append(scenario.seed)
        is_judged = scenario.seed == 1
        return Run(
            record.scenario, filled({**record.summary.document, "emulator": {"judged": is_judged, "reason": ""}})
        )

    monkeypatch.setattr(kernel_examples, "run", play)
    # Simulated captures have one receiver, which receives all data of the link.
    monkeypatch.setattr(kernel_examples, "receiver_address", lambda i: "10.128.0.1")
    first, second = gather_on_kernel(planned_runs(), 50, Library(tmp_path))
    assert played == [1, 2, 2]
    assert second is None
    assert first is not None
    assert first.values.shape == (50, 209)
    assert (first.labels == 1).mean() > 0.8
    gather_on_kernel(planned_runs()[:1], 50, Library(tmp_path))
    assert played == [1, 2, 2]
    with pytest.raises(ConfigError, match="no run can be judged"):
        examine(NEAR, planned_runs()[1:], 50, world="kernel")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forest = tmp_path / "forest.json"
    forest.write_text(json.dumps(NEAR))
    words = ["guard", "examine", str(forest), "--runs", "6", "--rows", "20", "--duration", "8s", "--workers", "1"]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["world"] == "sim"
    assert document["accuracy"] <= document["most_frequent"]
    forest.write_text(json.dumps({**NEAR, "trained_on": {}}))
    assert main(words) == 2
    assert "has no list of training networks" in capsys.readouterr().err
