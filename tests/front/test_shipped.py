"""Shipped files: found by name from anywhere, and never in place of an existing file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import fairweir
from fairweir.ccas.lookup import check, kernel_c
from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.documents.suggestions import did_you_mean
from fairweir.scenario.model import Scenario

ROOT = Path(__file__).parents[2]
TINY = 'duration = "1s"\n[link.bottleneck]\nrate = "2Mbps"\nbuffer = "1bdp"\n[[flow]]\ncca = "reno"\nrtprop = "10ms"\n'


@pytest.mark.parametrize("kind", shipped.KINDS)
def test_every_file_of_a_folder_has_a_name_and_is_there_once(kind: str) -> None:
    one = shipped.KINDS[kind]
    found = shipped.by_name(kind)
    assert found
    # In the repository the package's folders are links to those at the top: no second copy can differ from the first.
    assert shipped.folder(kind) == ROOT / one.folder
    assert all(file.is_file() and shipped.find(kind, name) == file for name, file in found.items())


def test_no_shipped_file_is_left_out() -> None:
    named = {file for kind in shipped.KINDS for file in shipped.by_name(kind).values()}
    known = shipped.folder("scenarios") / "agree" / "known" / "differences.toml"
    every = {file for top in ("scenarios", "rules", "queries", "policies") for file in (ROOT / top).rglob("*.toml")}
    assert every - named == {known}


def test_names_work_away_from_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--set", "duration=1s", "--set", "warmup=0s", "--json"]
    assert main(["run", "agree/one-flow-12mbps", *words]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["name"] == "one-flow-12mbps"
    assert Scenario.load("three-rtprops").name == "three-rtprops"
    for name in shipped.by_name("rules"):
        check(name)
    assert kernel_c("cc_probe_drain").name == "cc_probe_drain.bpf.c"


def test_an_existing_file_takes_precedence_over_a_name_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policer").write_text(TINY, encoding="utf-8")
    assert main(["run", "policer", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["scenario"]["duration"] == "1s"
    assert shown.err.count("`policer` refers to the file ./policer") == 1
    # The message appears only if both exist; ./policer can only be the file.
    assert main(["run", "./policer", "--json"]) == 0
    assert "refers to" not in capsys.readouterr().err


def test_a_folder_of_the_name_does_not_hide_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policer").mkdir()
    assert shipped.find("scenarios", "policer") == ROOT / "scenarios" / "policer.toml"


@pytest.mark.parametrize("text", ["./policer", "../policer", "/policer", "~policer", "none.toml", "\0", "x" * 5000])
def test_a_text_that_is_no_name_stays_a_path(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped.find("scenarios", text) == Path(text)


@pytest.mark.parametrize("kind", ["ccas", "exhibits", "models", "challenges", "suites", *shipped.KINDS])
def test_everything_that_has_names_can_be_listed(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    if kind in {"forests", "game-queries"}:  # only policies name it; it is listed with the queries
        return
    assert main(["list", kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)[kind]
    assert all(row["name"] and row["summary"].strip() for row in rows)
    if kind in shipped.KINDS:
        kinds = [kind, "game-queries"] if kind == "queries" else [kind]
        assert [row["name"] for row in rows] == [name for one in kinds for name in shipped.by_name(one)]


def test_suggestions() -> None:
    assert did_you_mean("cubik", ["cubic", "bbr"]) == "did you mean `cubic`?"
    assert did_you_mean("polic", ["policer-shallow", "random"]) == "did you mean `policer-shallow`?"
    assert did_you_mean("CUBIC", ["Cubic"]) == "did you mean `Cubic`?"
    # With half of the letters equal, words are not similar: `reno` is not a misspelled `expo`.
    assert did_you_mean("reno", ["aimd", "expo"]) == "known are aimd, expo"
    assert did_you_mean("", ["aimd"]) == "known are aimd"


def test_suggestions_and_shipped_files_have_one_home_each() -> None:
    package = Path(fairweir.__file__).parent
    texts = {str(file.relative_to(package)): file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    assert [name for name, text in texts.items() if "get_close_matches" in text] == ["documents/suggestions.py"]
    # No path leads out of the package, because the folders above it exist only in a clone.
    climbing = re.compile(r"__file__\)(\.resolve\(\))?\.(parents\[|parent\.parent)")
    assert not [name for name, text in texts.items() if climbing.search(text)]
