"""The shipped policies and forests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairweir import _core
from fairweir.guard import forest
from fairweir.guard.treatments import Policy

POLICIES = Path(__file__).parents[2] / "policies"
FILES = sorted(POLICIES.glob("*.toml"))
FORESTS = sorted((POLICIES / "forests").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_example_is_understood(file: Path, tmp_path: Path) -> None:
    policy = Policy.read(file)
    trees = policy.trees
    # The core reads the policies before the capture, and there is none.
    with pytest.raises(Exception, match="No such file"):
        _core.replay_guarded(str(tmp_path / "none.pcap"), policy.text, ["192.0.2.1"], forest=trees)


@pytest.mark.parametrize("file", FORESTS, ids=lambda file: file.stem)
def test_every_forest_tells_classes_apart_and_where_it_is_from(file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "flow.toml"
    rules.write_text(f"[flow]\nmodel = '{file}'\n")
    policy = Policy.read(rules)
    assert policy.trees is not None
    document = json.loads(file.read_text())
    assert document["trained_on"]["mix"] == file.stem
    assert document["trained_on"]["rounds"] > 0, "who is to hold flows has learnt from flows that were held"
    trained_on = policy.trained_on()
    assert trained_on is not None
    assert len(trained_on) > 100
    dice = np.random.default_rng(1)
    rows = dice.lognormal(0, 4, (500, len(document["features"])))
    _, classes = forest.walk(document, rows)
    assert set(classes.tolist()) == {0, 1, 2}


def test_there_are_some() -> None:
    assert len(FILES) >= 8
    assert {file.stem for file in FORESTS} == {"reno-cubic", "vegas-cubic", "combined"}
