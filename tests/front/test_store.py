"""One store of finished work: damaged files count as missing, other files are not touched, every user resumes alike."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairweir.documents.store import Store, fingerprint, to_json
from fairweir.game.sampling import Labelled, feature_names, label_store
from fairweir.guard.evaluate import Kept, Play, Shares
from fairweir.guard.examples import Library
from fairweir.play.batch import Archive, Task
from fairweir.play.run import run
from fairweir.play.sweep import sweep
from fairweir.scenario.dumbbell import dumbbell

SHORT = dumbbell("reno", rate="12Mbps", duration="1s")


def numbers(content: bytes) -> list[int]:
    found = json.loads(content)
    if not isinstance(found, list):
        raise TypeError
    return found


def test_a_fingerprint_depends_on_every_part() -> None:
    assert fingerprint("a", {"b": 1, "c": 2}) == fingerprint("a", {"c": 2, "b": 1})
    assert len({fingerprint(*parts) for parts in ((), ("a",), ("a", "b"), ("ab",), (["a"],), ("a", None))}) == 6
    assert len(fingerprint()) == 32


def test_what_is_stored_is_found_and_without_a_directory_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "made" / "later", to_json, numbers)
    assert store.get("a") is None
    assert not (tmp_path / "made").exists()
    store.put("a", [1, 2])
    assert store.get("a") == [1, 2]
    assert [path.name for path in store.path("a").parent.iterdir()] == ["a.json"]
    nowhere: Store[list[int]] = Store(None, to_json, numbers)
    nowhere.put("a", [1])
    assert nowhere.get("a") is None


@pytest.mark.parametrize("content", [b"", b"[1, 2", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_counts_as_missing_and_is_replaced(content: bytes, tmp_path: Path) -> None:
    store = Store(tmp_path, to_json, numbers)
    store.path("a").write_bytes(content)
    assert store.get("a") is None
    assert store.path("a").read_bytes() == content
    store.put("a", [3])
    assert store.get("a") == [3]


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "a.json").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "b.json")
    (tmp_path / "c.json").mkdir()
    store = Store(tmp_path, to_json, numbers)
    assert [store.get(key) for key in "abc"] == [None, None, None]
    store.put("a", [1])
    assert store.get("a") == [1]
    assert {(tmp_path / name).read_text() for name in ("notes.txt", "victim")} == {"mine"}


def an_archive(folder: Path) -> Any:
    task = Task(SHORT)
    Archive(folder).put(task, run(SHORT).summary.without_scenario())
    return lambda: Archive(folder).get(task)


def plays(folder: Path) -> Any:
    class Named(Play):
        key = "one"

    one = Named(None)  # type: ignore[arg-type]
    Kept(folder).put(one, Shares(1.0, 1.0, [1.0], 1.0, {}))
    return lambda: Kept(folder).get(one)


def examples(folder: Path) -> Any:
    Library(folder).put("one", np.zeros((2, 3)), np.ones(2))
    return lambda: Library(folder).get("one")


def labels(folder: Path) -> Any:
    store = label_store(folder, 4)
    store.put("one", Labelled(np.zeros((2, len(feature_names()))), np.zeros((2, 4, 8), dtype=np.int32)))
    return lambda: store.get("one")


@pytest.mark.parametrize("user", [an_archive, plays, examples, labels])
def test_every_user_of_it_does_damaged_work_again(user: Any, tmp_path: Path) -> None:
    get = user(tmp_path)
    assert get() is not None
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"{}", b"[]", b""):
        file.write_bytes(content)
        assert get() is None
    file.write_bytes(whole)
    assert get() is not None


def test_a_sweep_plays_damaged_points_again(tmp_path: Path) -> None:
    grid: dict[str, list[Any]] = {"seed": [1, 2]}
    first = sweep(SHORT, grid, tmp_path, workers=1)
    files = sorted((tmp_path / "points").iterdir())
    files[0].write_text('{"summary": {"flows": [{"id": "reno-1"}], "links": []}}')
    again = sweep(SHORT, grid, tmp_path, workers=1)
    assert again.reused == 1
    assert {key: one.flows for key, one in again.summaries.items()} == {
        k: one.flows for k, one in first.summaries.items()
    }
