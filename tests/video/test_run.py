"""Video sessions from the command line, and errors of their input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.errors import ConfigError
from fairweir.video.evaluate import Kept, bars_of, evaluate
from fairweir.video.play import Session, play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender, senders


def session(name: str, sender: str, seconds: int = 20, **changes: Any) -> Session:
    """Run a short session with all records."""
    scenario = VideoScenario.load(name).override(duration=f"{seconds}s", **changes)
    return play(scenario, Sender.parse(sender), records=True)


@pytest.mark.parametrize("name", sorted(set(senders()) - {"search"}))
def test_every_sender_shows_frames(name: str) -> None:
    """Every sender runs on all four links; delays are at least propagation plus coding."""
    played = session("fixed", name)
    assert played.metrics["fps"] > 20
    assert played.metrics["delay_p50_ms"] >= 35


def test_the_search_decides_every_frame() -> None:
    """A query of the game is a sender, too."""
    played = session("fixed", "search", 4)
    assert played.metrics["fps"] > 20
    assert {one["leaf"] for one in played.decisions} > {"skip"} or len(played.decisions) > 30


@pytest.mark.parametrize("name", ["varying", "aggregation", "shallow"])
def test_rules_run_on_every_link(name: str) -> None:
    """Lost, late and skipped frames have a fate; displayed frames have ordered times."""
    played = session(name, "rules")
    for one in played.frames:
        if one["fate"] == "shown":
            assert one["captured_ms"] < one["sent_ms"] < one["shown_ms"]
        else:
            assert one["shown_ms"] is None
    assert played.metrics["fps"] > 25


def test_run_prints_a_table_json_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` prints the same session, records only with ``--explain``; the page has the decisions."""
    page = tmp_path / "page.html"
    assert main(["video", "run", "fixed", "--duration", "5s", "--explain", "--report", str(page)]) == 0
    assert "safe" not in capsys.readouterr().out
    assert "Decisions" in page.read_text(encoding="utf-8")
    assert main(["video", "run", "fixed", "--duration", "5s", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metrics"]["fps"] > 20
    assert "frames" not in document
    assert main(["video", "run", "fixed", "--duration", "5s", "--json", "--explain"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["frames"]) == 150
    assert document["decisions"]


def test_a_trace_replaces_the_link(tmp_path: Path) -> None:
    """A mahimahi file is read from the user's path."""
    path = tmp_path / "link.up"
    path.write_text("".join(f"{ms}\n" for ms in range(4, 1000, 4)))
    scenario = VideoScenario.load("fixed").override(duration="10s").over_trace(path)
    played = play(scenario, Sender("rules"))
    assert played.scenario == "link"
    assert played.traffic["link_use"] > 0.7


def broken_trees(folder: Path) -> dict[str, Path]:
    """Write the published controller with one mistake each."""
    text = shipped.find("controllers", "published").read_text(encoding="utf-8")
    made = {}
    for name, where, value in (
        ("cycle", "then", 0),
        ("nan", "at_most", float("nan")),
        ("long", "step", "1000000000000s"),
    ):
        document = json.loads(text)
        target = document if where in document else document["nodes"][0]
        assert where in target
        target[where] = value
        made[name] = folder / f"{name}.json"
        made[name].write_text(json.dumps(document))
    return made


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sender", "gccc"], "did you mean `gcc`?"),
        (["--sender", "gcc:1Mbps"], "takes no argument"),
        (["--sender", "fixed:1"], "--sender"),
        (["--sender", "fixed:99999Tbps"], "--sender"),
        (["--sender", "fixed:1bps"], "rate must be 8bps to 1Tbps: `1bps`"),
        (["--sender", "tree:{cycle}"], "({cycle}: nodes[0].then)"),
        (["--sender", "tree:{nan}"], "`NaN` is not a JSON value ({nan}: nodes[0].at_most)"),
        (["--sender", "tree:{long}"], "{long}: step"),
        (["--seed", "99999999999999999999"], "--seed"),
        (["--trace", "{huge}"], "line 2: `99999999999999999999`"),
        (["--sender", "tree:nowhere.json"], "nowhere.json"),
        (["--sender", "tree:{tree}"], "{tree}"),
        (["--trace", "{back}"], "times must not decrease"),
        (["--trace", "{empty}"], "no time after 0 ms"),
        (["--encoder", "{table}"], "{table}"),
        (["--duration", "1s"], "at least 3s"),
    ],
)
def test_bad_input_is_one_error(
    words: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad senders, traces, controllers and tables are one error on stderr that names them, and exit 2."""
    files = {name: tmp_path / f"{name}.json" for name in ("back", "empty", "huge", "tree", "table")}
    files |= broken_trees(tmp_path)
    files["huge"].write_text("5\n99999999999999999999\n")
    files["back"].write_text("5\n9\n7\n")
    files["empty"].write_text("\n")
    files["tree"].write_text(json.dumps({"format": "fairweir-tree-1", "nodes": []}))
    files["table"].write_text(json.dumps({"format": "fairweir-video-table-1", "bytes": [[[1, 2]]]}))
    filled = [word.format(**files) for word in words]
    assert main(["video", "run", "fixed", *filled]) == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert reported.err.startswith("error: ")
    assert expected.format(**files) in reported.err.replace("\n", "")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('warmup = "20s"', "warmup"),
        ('delay = "99999999s"', "delay"),
        ('aqm = { kind = "codel" }', "link.aqm.kind"),
        ('aqm = { kind = "dualpi2" }', "link.aqm.kind"),
        ('rate = "3000000Gbps"', "link.rate"),
        ("fps = 1e9", "fps"),
        ("seed = 99999999999999999999", "seed"),
    ],
)
def test_a_scenario_that_cannot_be_played_names_its_file_and_key(line: str, key: str, tmp_path: Path) -> None:
    """The error is named even if only the simulator finds it, at a key of its configuration."""
    path = tmp_path / "mine.toml"
    head, link = 'duration = "10s"', ['rate = "3Mbps"', 'buffer = "infinite"']
    name = line.split(" =", maxsplit=1)[0]
    if name in ("aqm", "rate"):
        link = [line, *(one for one in link if not one.startswith(name))]
        line = ""
    path.write_text("\n".join([head, line, "[link]", *link]))
    with pytest.raises(ConfigError) as caught:
        play(VideoScenario.load(path), Sender("rules"))
    assert (caught.value.source, caught.value.key) == (str(path), key)


def test_an_unknown_key_of_a_scenario_is_named(tmp_path: Path) -> None:
    """The error is the same as for scenarios of flows."""
    path = tmp_path / "mine.toml"
    path.write_text('duration = "10s"\nencodr = "x"\nlink = { rate = "3Mbps" }\n')
    with pytest.raises(ConfigError, match="encodr"):
        VideoScenario.load(path)


def test_evaluate_compares_seed_by_seed_and_reuses_what_is_stored(tmp_path: Path) -> None:
    """Finished sessions are reused; the session of a truncated line is run again."""
    links = [VideoScenario.load("fixed").override(duration="6s")]
    played: list[int] = []
    first = evaluate(links, [Sender("rules")], seeds=2, kept=Kept(tmp_path), on_done=lambda *_: played.append(1))
    assert len(first.sessions) == len(played) == 12
    assert {bar.quantity for bar in first.bars} == {
        "p95 of delay, ms",
        "frames per second",
        "median SSIM minus Salsify's, dB",
    }
    kept = Kept(tmp_path)
    text = kept.path.read_text()
    kept.path.write_text(text[: -len(text) // 20])
    again = evaluate(links, [Sender("rules")], seeds=2, kept=Kept(tmp_path), on_done=lambda *_: played.append(1))
    assert again.bars == first.bars
    assert len(played) == 13


def test_bars_of_traces_are_ratios() -> None:
    """On other links than the four, GCC's p95 is divided by ours, and our frame rate by Salsify's."""

    def made(sender: str, p95: float, ssim: float, fps: float, seed: int) -> Session:
        return Session("lte", sender, "x", seed, {"delay_p95_ms": p95, "ssim_p50_db": ssim, "fps": fps}, {})

    sessions = [
        made(*row, seed)
        for seed in (1, 2, 3)
        for row in (("rules", 100.0, 18.0, 29.0), ("gcc", 500.0, 15.0, 30.0), ("salsify", 90.0, 16.0, 28.0 + seed))
    ]
    gcc, fps, ssim = bars_of(sessions, ["rules"])
    assert gcc.measured.value == pytest.approx(5)
    assert gcc.holds
    assert ssim.measured.value == pytest.approx(2)
    assert ssim.holds
    assert not fps.holds


def test_evaluate_writes_a_page_and_the_document_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``results.json`` equals the output of ``--json``; the first 3 s of GCC miss the bounds, so the exit code is 1."""
    words = ["video", "evaluate", "fixed", "--duration", "3s", "--seeds", "1", "--out", str(tmp_path), "--json"]
    assert main(words) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {one["sender"] for one in printed["sessions"]} >= {"rules", "gcc", "salsify"}
    assert (tmp_path / "report.html").stat().st_size > 0
