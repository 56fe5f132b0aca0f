"""Proofs in a controller file belong to its controller: each use of a file that was changed later reports this."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.ccas import lookup
from fairweir.ccas.controller_file import PROOFS_HASH, Controller, has_own_proofs, with_proofs
from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.errors import ConfigError
from fairweir.video.senders import Sender

PROVED = sorted(name for name, path in shipped.by_name("controllers").items() if '"proved"' in path.read_text())
#: Labels, which may be changed.
FREE = {"name", "version"}


def document(name: str = "bulk") -> dict[str, Any]:
    return dict(json.loads(shipped.by_name("controllers")[name].read_bytes()))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the places of all values in a document that are not containers."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from places(one, (*path, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from places(one, (*path, index))
    else:
        yield path


def changed(original: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    edited = copy.deepcopy(original)
    at: Any = edited
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return edited


def another(value: Any) -> Any:
    return f"{value}x" if isinstance(value, str) else value + 1


def test_shipped_proofs_are_of_their_files() -> None:
    assert {"bulk", "conference"} <= set(PROVED)
    for name in shipped.by_name("controllers"):
        assert has_own_proofs(Controller.load(shipped.by_name("controllers")[name]).document)


@pytest.mark.parametrize("name", PROVED)
def test_a_change_of_any_value_is_noticed(name: str) -> None:
    original = document(name)
    for path in places(original):
        value = original
        for key in path:
            value = value[key]
        assert has_own_proofs(changed(original, path, another(value))) is (path[0] in FREE), path


OTHER = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5), st.text(max_size=4), st.lists(st.integers(0, 3))
)


@given(st.data())
def test_random_edits_are_noticed(data: st.DataObject) -> None:
    original = document()
    path = data.draw(st.sampled_from([one for one in places(original) if one[0] not in FREE]))
    # A whole branch, or one value.
    path = path[: data.draw(st.integers(1, len(path)))]
    at: Any = original
    for key in path:
        at = at[key]
    other = data.draw(OTHER)
    edited = changed(original, path, other)
    same = type(other) in (int, float) and type(at) in (int, float) and other == at
    if not edited["proofs"]:
        # Nothing is claimed.
        assert has_own_proofs(edited)
        return
    assert has_own_proofs(edited) is same


@given(st.data())
def test_removed_and_added_parts_are_noticed(data: st.DataObject) -> None:
    edited = document()
    lists = ["nodes", "shield", "proofs"]
    key = data.draw(st.sampled_from(lists))
    index = data.draw(st.integers(0, len(edited[key]) - 1))
    if data.draw(st.booleans()):
        edited[key].pop(index)
    else:
        edited[key].insert(index, copy.deepcopy(edited[key][index]))
    assert has_own_proofs(edited) is (not edited["proofs"])


def test_order_of_keys_and_spelling_of_numbers_are_no_change() -> None:
    original = document()

    def respelt(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: respelt(value[key]) for key in reversed(value)}
        if isinstance(value, list):
            return [respelt(one) for one in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    other = respelt(original)
    assert json.dumps(other) != json.dumps(original)
    assert has_own_proofs(other)
    assert has_own_proofs(with_proofs({**original, "points": 5}, original["proofs"]))


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    original = document()
    original["probe_period"] = 300
    path.write_text(json.dumps(original))
    return path


def test_a_changed_file_is_refused_wherever_it_is_used(edited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = r"unproved: the controller or its proofs were changed after it was proved"
    for use in (
        lambda: Controller.load(edited),
        lambda: lookup.check(str(edited)),
        lambda: Sender.parse(str(edited)).base(),
    ):
        with pytest.raises(ConfigError, match=said) as caught:
            use()
        assert (caught.value.source, caught.value.key) == (str(edited), PROOFS_HASH)
        assert "fairweir verify" in str(caught.value.hint)
    for command in (
        ["audit", str(edited)],
        ["video", "run", "--sender", str(edited), "--explain"],
    ):
        assert main(command) == 2
        assert "unproved" in capsys.readouterr().err


def test_a_file_from_before_the_hash_is_unproved(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    without = {key: value for key, value in document().items() if key != PROOFS_HASH}
    path.write_text(json.dumps(without))
    with pytest.raises(ConfigError, match="missing"):
        Controller.load(path)
    path.write_text(json.dumps({**without, "proofs": []}))
    assert Controller.load(path).name == "bulk"


def test_it_is_proved_again(edited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(edited), "--property", "loss<=1", "--write"]) == 0
    capsys.readouterr()
    again = Controller.load(edited)
    assert {row["status"] for row in again.document["proofs"]} == {"proved"}


def test_the_list_says_it(edited: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    by_name = shipped.by_name

    def with_mine(folder: str) -> dict[str, Path]:
        return {**by_name(folder), "mine": edited} if folder == "controllers" else by_name(folder)

    monkeypatch.setattr(shipped, "by_name", with_mine)
    assert main(["list", "controllers", "--json"]) == 0
    rows = {row["name"]: row["summary"] for row in json.loads(capsys.readouterr().out)["controllers"]}
    assert rows["mine"].endswith("not proved: the file was changed after the proofs")
    assert rows["bulk"].endswith("claims proved")
