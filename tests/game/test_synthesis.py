"""``fairweir synth`` with queries of the game: from a query to a proved tree, interruption, resumption, bad queries."""

from __future__ import annotations

import json
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from fairweir import _core
from fairweir.ccas.controller_file import Controller
from fairweir.cli.main import main
from fairweir.game import labels, sampling
from fairweir.game.claims import default_claims
from fairweir.game.parallel import in_order
from fairweir.game.query import Sampling, Trees

#: Goals while the belief is wide, and once it has converged, when its width no longer counts.
GOALS = """
[[objective.{stage}]]
name = "no frame late"
terms = {{ late_frames = 1 }}
quantum = 1

[[objective.{stage}]]
name = "frames"
terms = {{ received_frames = -1, frames_in_flight = -0.5, queue = 0.25{width} }}
quantum = 0.001
"""

QUERY = """
name = "small"
kind = "video"
step = "50ms"
depth = 2
probe_period = 200

[model]
c = [1, 200]
b = [1, 200]

[[actions]]
name = "newest"
send = "newest"
encode = "M"

[[actions]]
name = "newest+R0"
send = "newest"
rate = "R0"
encode = "M"

[[actions]]
name = "all"
send = "all"
encode = "M"

[[actions]]
name = "idle"
encode = "M"

[objective.limits]
deadline_steps = 6
stale_steps = 3
raise_packets = 1
queue_steps = 1
tolerance_packets = 2
"""
QUERY += GOALS.format(stage="searching", width=", width = 1") + GOALS.format(stage="converged", width="")
QUERY += """
[sampling]
sessions = 3
boxes = 120
rounds = 1
sessions_per_round = 2

[tree]
leaves = [4, 8]
trials = 2
"""
#: Without a shield, and with a single action whose rate exceeds the rate of each link below three times min C.
RECKLESS = """
name = "reckless"
kind = "rate"
step = "50ms"
depth = 1
probe_period = 200
shield = []

[model]
c = [1, 200]
b = [1, 200]

[[actions]]
name = "thrice"
rate = "3 M"

[objective.limits]
deadline_steps = 6
stale_steps = 3
raise_packets = 1
queue_steps = 1
tolerance_packets = 2

[[objective.searching]]
name = "sent"
terms = { delivered = -1 }
quantum = 0.01

[[objective.converged]]
name = "sent"
terms = { delivered = -1 }
quantum = 0.01

[sampling]
sessions = 2
boxes = 20
rounds = 0

[tree]
leaves = [2]
trials = 2
"""


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(QUERY, encoding="utf-8")
    return path


def synth(query: Path, out: Path, *words: str) -> int:
    return main(["synth", str(query), "--out", str(out), *words])


def contents(out: Path) -> tuple[bytes, bytes]:
    return (out / "controller.json").read_bytes(), (out / "results.json").read_bytes()


class Counted:
    """Labeling that counts its calls; at one of them the process receives SIGINT."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int | None = None) -> None:
        self.calls, self.at, self.real = 0, at, sampling.label
        monkeypatch.setattr(labels, "label", self)

    def __call__(self, query: Any, states: Any) -> Any:
        if states:
            self.calls += 1
            if self.calls == self.at:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return self.real(query, states)


def test_from_a_query_to_a_proved_tree(query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert synth(query, out, "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["is_proved"]
    assert set(reported["proofs"]) == {"proved"}
    assert reported == {**json.loads((out / "results.json").read_text()), "directory": str(out)}
    assert reported["labelled"]["random"] <= 120
    assert sum(one["is_chosen"] for one in reported["candidates"]) == 1
    # Both readers accept the file, and it contains the proofs.
    text = (out / "controller.json").read_text()
    found = Controller.parse(text)
    assert json.loads(_core.GameController(text).to_json()) == json.loads(text)
    proofs = found.document["proofs"]
    assert len(proofs) == len(default_claims(found.kind)) * len(found.leaves) == reported["proofs"]["proved"]
    assert {(one["leaf"], one["status"]) for one in proofs} == {(index, "proved") for index, _, _ in found.leaves}
    assert len(found.leaves) == reported["leaves"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"small: a tree of {reported['leaves']} " in page
    assert page.count("<svg class=") == 2


def test_the_number_of_threads_changes_nothing(query: Path, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in ("one", "two")]
    for out, workers in zip(outs, ("1", "2"), strict=True):
        assert synth(query, out, "--workers", workers) == 0
    assert contents(outs[0]) == contents(outs[1])


@pytest.mark.parametrize("at", [2, 5, 9])
def test_an_interrupted_synthesis_goes_on_to_the_same_tree(
    at: int, query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    with monkeypatch.context() as patch:
        counted = Counted(patch)
        assert synth(query, whole) == 0
        units = counted.calls
    with monkeypatch.context() as patch:
        Counted(patch, at)
        assert synth(query, out, "--workers", "1") == 130
    said = capsys.readouterr().err
    assert f"finished labels are stored in {out}/; run the same command to resume" in said
    assert not (out / "controller.json").exists()
    # Units that are running at that time are finished and stored; no other unit is started.
    stored = len(list((out / "labels").glob("*.npz")))
    assert at - 1 <= stored < units
    counted = Counted(monkeypatch)
    assert synth(query, out) == 0
    assert counted.calls == units - stored
    assert contents(whole) == contents(out)


def test_labels_are_used_again_as_far_as_they_are_the_same(
    query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    counted = Counted(monkeypatch)
    assert synth(query, out) == 0
    assert synth(query, out, "--set", "tree.trials=3") == 0
    # Three sessions of the search, two units of random situations, two sessions held out, and the round's four.
    assert counted.calls == 3 + 2 + 2 + 4
    # The first four sessions are unchanged; the tree after the new session may differ.
    counted.calls = 0
    assert synth(query, out, "--set", "sampling.sessions=4", "--set", "sampling.rounds=0") == 0
    assert counted.calls == 1
    # A game with another horizon has another key.
    assert synth(query, out, "--set", "sampling.depth=1", "--set", "sampling.rounds=0") == 0
    assert counted.calls == 1 + 3 + 2 + 2


def test_a_damaged_file_of_labels_is_labelled_again(query: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert synth(query, out) == 0
    before = contents(out)
    for number, file in enumerate(sorted((out / "labels").glob("*.npz"))):
        file.write_bytes([b"", b"PK\3\4 no archive", file.read_bytes()[:-100]][number % 3])
    assert synth(query, out) == 0
    assert contents(out) == before


def test_a_refuted_claim_is_exit_1_with_a_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query, out = tmp_path / "reckless.toml", tmp_path / "out"
    query.write_text(RECKLESS, encoding="utf-8")
    assert synth(query, out) == 1
    said = capsys.readouterr().out
    replays = sorted((out / "refutations").glob("*.json"))
    assert replays
    assert f"replay it with: fairweir verify {replays[0]}" in said
    assert main(["verify", str(replays[0])]) == 1
    assert "refuted" in (out / "controller.json").read_text()


def test_the_directory_of_another_query_is_left_alone(
    query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "query.json").write_text('{"name": "other"}', encoding="utf-8")
    assert synth(query, out) == 2
    assert "holds the synthesis of another query" in capsys.readouterr().err
    assert [file.name for file in out.iterdir()] == ["query.json"]
    taken = tmp_path / "taken"
    taken.write_text("", encoding="utf-8")
    assert synth(query, taken) == 2
    assert "choose another one with --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ("kind=audio", "kind", "audio"),
        ("actions=[]", "actions", "0 actions"),
        ("depth=9", "depth", "`9` is not between 1 and 8"),
        ("model.c=[5, 1]", "model.c", "`[5, 1]` is not a range"),
        ('actions.0.rate="3 X"', "actions[0].rate", "unknown amount `X`"),
        ("objective.searching.0.terms={nope = 1}", "objective.searching[0].terms", "unknown metric `nope`"),
        ("step=50", "step", "50"),
        ("sampling=3", "sampling", "must be a table: `3`"),
        ("sampling.sesions=3", "sampling.sesions", "unknown key `sesions`"),
        ("sampling.sessions=1", "sampling.sessions", "at least 2: `1`"),
        ("tree.leaves=[]", "tree.leaves", "[]"),
        ("tree.leaves=[1]", "tree.leaves.0", "at least 2: `1`"),
        ("tree.leaves=[5001]", "tree.leaves.0", "at most 5000: `5001`"),
        ("tree.preferences=[nan]", "tree.preferences.0", "nan"),
        ("tree.preferences=[-1]", "tree.preferences.0", "at least 0.0: `-1`"),
        ('name="../above"', "name", "../above"),
    ],
)
def test_a_bad_query_is_one_error_with_its_key_and_a_hint(
    change: str, key: str, words: str, query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert synth(query, out, "--set", change) == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert reported.err.count("error: ") == 1
    assert words in reported.err
    assert f"({query}: {key})" in reported.err
    assert "\nhint: " in reported.err
    assert " at line 1" not in reported.err
    assert not out.exists()


def test_a_query_of_the_game_that_lacks_a_key(query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, missing in (('kind = "video"\n', "kind"), ("depth = 2\n", "depth")):
        query.write_text(QUERY.replace(line, ""), encoding="utf-8")
        assert synth(query, tmp_path / "out") == 2
        said = capsys.readouterr().err
        assert said.count("error: ") == 1
        assert f"error: {missing} is missing ({query}: {missing})" in said


def test_an_option_for_templates_is_rejected(query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synth(query, tmp_path / "out", "--every-member") == 2
    assert "--every-member has no effect for a query of the game" in capsys.readouterr().err


def test_threads_return_results_in_order_and_stop_at_an_error() -> None:
    seen: list[tuple[int, int]] = []
    assert in_order(lambda n: n * n, range(20), workers=4, progress=lambda *done: seen.append(done)) == [
        n * n for n in range(20)
    ]
    assert seen[-1] == (20, 20)
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        raise RuntimeError(number)

    with pytest.raises(RuntimeError, match="0"):
        in_order(work, range(10_000), workers=1, progress=lambda *_: None)
    assert len(begun) < 10_000


@pytest.mark.parametrize(("table", "model"), [("sampling", Sampling), ("tree", Trees)])
def test_the_page_lists_every_key_with_its_default(table: str, model: type[BaseModel]) -> None:
    page = (Path(__file__).parents[2] / "docs/formal/game.md").read_text(encoding="utf-8")
    rows = page.partition(f"| `[{table}]` | default | meaning |\n| --- | --- | --- |\n")[2].partition("\n\n")[0]
    reported = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", rows, re.MULTILINE))
    assert reported == {
        key: "the query's" if field.default is None else str(field.default) for key, field in model.model_fields.items()
    }


@pytest.mark.parametrize(
    "changes",
    [
        ("tree.min_samples=1000000", "sampling.boxes=0", "sampling.rounds=0"),
        ("tree.leaves=[2, 2]", "tree.tie=1", "tree.zero_regret=1", "tree.leaf_price=1", "sampling.rounds=0"),
        ("tree.base=0", "tree.decay=0.01", "tree.preferences=[0, 1000]", "tree.zero_regret=0", "sampling.noise=1"),
    ],
)
def test_keys_at_odds_with_each_other_still_give_a_proved_tree(
    changes: tuple[str, ...], query: Path, tmp_path: Path
) -> None:
    assert synth(query, tmp_path / "out", *(word for change in changes for word in ("--set", change))) == 0
    assert Controller.load(tmp_path / "out" / "controller.json").leaves
