"""Comparisons: equal sides do not differ, and sides that cannot be compared are rejected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import fairweir as fw
from fairweir.errors import ConfigError

LINK: dict[str, Any] = {"rate": "12Mbps", "rtprop": "20ms", "buffer": "1bdp", "duration": "2s"}
PAIR = fw.dumbbell(["reno", "reno"], **LINK)


def run(seed: int) -> fw.Run:
    return fw.run(PAIR.override({"seed": seed}))


def test_a_controller_compared_with_itself_does_not_differ() -> None:
    rows = fw.compare("reno", "reno", scenario=PAIR, seeds=3).rows
    assert rows
    assert [row for row in rows if row.difference or row.is_significant] == []


def test_a_run_and_its_copy_are_not_two_samples() -> None:
    one, other = run(1), fw.run(fw.dumbbell(["vegas", "vegas"], **LINK))
    with pytest.raises(ConfigError, match="two runs on a side have seed 1"):
        fw.compare([one, one], [other, other])
    assert all(row.is_significant is None for row in fw.compare(one, other).rows)


@pytest.mark.parametrize(
    ("sides", "options", "expected"),
    [
        ("runs", {"seeds": 9}, "seeds has no effect"),
        ("runs", {"workers": 1}, "workers has no effect"),
        ("runs", {"scenario": PAIR}, "scenario has no effect"),
        ("runs", {"directory": "found"}, "directory has no effect"),
        ("names", {"seeds": "2"}, "seeds must be a whole number, positive: `'2'`"),
        ("names", {"seeds": 2.5}, "seeds must be a whole number"),
        ("names", {"seeds": True}, "seeds must be a whole number"),
        ("names", {"seeds": 0}, "seeds must be a whole number, positive: `0`"),
        ("names", {"seeds": 2, "workers": "a"}, "workers must be a whole number"),
        ("names", {"seeds": 2, "workers": -1}, "workers must be a whole number"),
    ],
)
def test_an_argument_that_is_wrong_or_without_effect_is_an_error(
    sides: str, options: dict[str, Any], expected: str
) -> None:
    first, second = (run(1), run(2)) if sides == "runs" else ("reno", "cubic")
    with pytest.raises(ConfigError, match=re.escape(expected)):
        fw.compare(first, second, **({"scenario": PAIR} if sides == "names" else {}) | options)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([], [], "a list of runs to compare is empty"),
        ("reno", [], "a list of runs to compare is empty"),
        ([1], [2], "a list to compare has other things than runs: int"),
    ],
)
def test_a_list_is_of_runs_and_not_empty(first: Any, second: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)) as raised:
        fw.compare(first, second)
    assert "two lists of runs" in (raised.value.hint or "")


def test_finished_runs_are_stored_and_reused(tmp_path: Path) -> None:
    first = fw.compare("reno", "cubic", scenario=PAIR, seeds=2, directory=tmp_path)
    files = sorted((tmp_path / "runs").iterdir())
    times = [file.stat().st_mtime_ns for file in files]
    assert len(files) == 4
    assert fw.compare("reno", "cubic", scenario=PAIR, seeds=2, directory=tmp_path) == first
    assert [file.stat().st_mtime_ns for file in files] == times


@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        ((3, "queue<=4"), {}, "cca must be a text: `3`"),
        (([], "queue<=4"), {}, "cca must be a text"),
        (("cc_qdel", 3), {}, "claim must be a text: `3`"),
        (("cc_qdel", "queue<=4"), {"points": "a"}, "points must be a whole number"),
        (("cc_qdel", "queue<=4"), {"points": 5.5}, "points must be a whole number"),
        (("cc_qdel", "queue<=4"), {"flows": 0}, "flows must be a whole number, positive: `0`"),
        (("cc_qdel", "queue<=4"), {"per_r": None}, "per_r must be a whole number"),
        (("cc_qdel", "queue<=4"), {"model": None}, "model must be a text"),
        (("cc_qdel", "queue<=4"), {"given": [3]}, "given must be a text"),
    ],
)
def test_verify_rejects_arguments_of_another_type(
    arguments: tuple[Any, Any], options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        fw.verify(*arguments, **options)


@pytest.mark.parametrize("capture", [3, None, [], b"x"])
def test_explain_rejects_other_things_than_a_path(capture: Any) -> None:
    with pytest.raises(ConfigError, match="capture must be a path: "):
        fw.explain(capture)


def test_one_assumption_needs_no_list() -> None:
    assert fw.verify("cc_qdel", "queue<=100", points=4, given="queue<=2").outcome.value == "proved"
