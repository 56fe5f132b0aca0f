"""Small training from end to end: runs, features, forest, examination and command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairweir import _core
from fairweir.cli.main import main
from fairweir.guard import forest
from fairweir.guard.configurations import MIXES, Network, PlannedRun
from fairweir.guard.examples import LEAKING_FEATURES, Library, gather
from fairweir.guard.training import Plan
from fairweir.units import Duration


def small() -> list[PlannedRun]:
    part = MIXES["vegas-cubic"][0]
    return [PlannedRun(part, Network(rate, 40, 2, 1), Duration.from_s(15), seed) for seed, rate in enumerate((8, 12))]


def test_examples_are_stored_and_not_played_again(tmp_path: Path) -> None:
    library = Library(tmp_path)
    first = gather(small(), 50, library, workers=1)
    for file in tmp_path.iterdir():
        file.touch()
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert len(kept) == 2
    again = gather(small(), 50, library, workers=1)
    assert all(np.array_equal(a.values, b.values, equal_nan=True) for a, b in zip(first, again, strict=True))
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == kept


def test_a_receiver_sees_what_its_labels_tell() -> None:
    (one, _) = gather(small(), 200, Library(None), workers=1)
    names = _core.guard_features()
    assert one.values.shape == (200, len(names))
    throughput = one.values[:, names.index("throughput_mbps.window8")]
    # Cubic above Vegas: those with more than half of 8 Mbit/s, headers included.
    assert throughput[one.labels == 2].min() > throughput[one.labels == 0].max()
    rtt_ms = one.values[:, names.index("rtt_us")] / 1e3
    assert 40 <= np.nanmin(rtt_ms) < np.nanmax(rtt_ms) <= 40 + 2 * 40 + 5
    assert not np.isinf(one.values).any()


def test_held_flows_are_other_examples_and_kept_apart(tmp_path: Path) -> None:
    library = Library(tmp_path)
    always_above = json.dumps({"features": [], "baseline": [0, 0, 1], "trees": []})
    (free, _) = gather(small(), 50, library, workers=1)
    (held, _) = gather(small(), 50, library, forest=always_above, workers=1)
    assert len(list(tmp_path.iterdir())) == 4
    assert (held.labels == 2).mean() < (free.labels == 2).mean() - 0.1, "some of what was above is stepped down"


def test_whole_runs_are_stored_for_examination() -> None:
    planned_runs = Plan("combined", 60, 10, Duration.from_s(10)).planned_runs
    unseen = Plan("combined", 60, 10, Duration.from_s(10)).unseen_runs("copa")
    assert not {planned.seed for planned in planned_runs} & {planned.seed for planned in unseen}
    assert {(planned.part.incumbent, planned.part.newcomer) for planned in unseen} == {("cubic", "copa")}


@pytest.mark.timeout(120)
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "forest.json"
    words = ["guard", "train", "--model", "vegas-cubic", "--runs", "10", "--rows", "60", "--duration", "8s"]
    more = ["--iterations", "8", "--leaves", "7", "--unseen", "reno", "--rounds", "1", "--workers", "1", "--json"]
    assert main([*words, *more, "--out", str(out), "--data", str(tmp_path / "data")]) == 0
    document = json.loads(capsys.readouterr().out)
    written = json.loads(out.read_text())
    assert written["trained_on"] == {
        "mix": "vegas-cubic",
        "runs": 10,
        "rows": 60,
        "duration_s": 8.0,
        "rounds": 1,
        "leaky_features": False,
        "seed": 1,
        "world": "sim",
    }
    assert written["features"] == list(document["features"])
    assert 5 < len(written["features"]) <= 20
    assert document["trees"] == len(written["trees"]) <= 24
    assert document["accuracy"]["selected"] > document["accuracy"]["most_frequent"]
    assert "vegas vs reno, random, unseen" in document["by_part"]
    assert 0 < document["held"] <= 1
    assert not LEAKING_FEATURES.intersection(written["features"])
    row = np.full((1, len(written["features"])), np.nan)
    assert forest.walk(written, row)[1][0] in (0, 1, 2)
