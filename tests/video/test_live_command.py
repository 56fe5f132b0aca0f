"""``fairweir video live``: its comparison with the table, its exit codes, and what it rejects before it encodes."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fairweir.cli.main import main
from fairweir.units import Duration
from fairweir.video import live
from fairweir.video.live import LiveEncoder, LiveRun
from fairweir.video.live_session import COMPARED, Row
from fairweir.video.play import play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

SHORT = ["video", "live", "fixed", "--sender", "fixed:1Mbps", "--duration", "3s"]


def test_a_live_session_agrees_with_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agrees"]
    assert (found["sender"], found["encoder"], found["duration_s"]) == ("fixed:1Mbps", "talking-head-x264", 3.0)
    assert list(found["rows"]) == list(COMPARED)
    for row in found["rows"].values():
        assert row["difference"] == pytest.approx(row["live"] / row["table"] - 1)
        assert row["agrees"]
    table = play(VideoScenario.load("fixed").override(duration="3s"), Sender.parse("fixed:1Mbps"))
    assert {name: row["table"] for name, row in found["rows"].items()} == {n: table.metrics[n] for n in COMPARED}


def test_a_metric_that_differs_is_exit_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = play(VideoScenario.load("fixed").override(duration="3s"), Sender.parse("fixed:1Mbps"))

    def shifted(_config: object, _content: str, _seed: int, **_: object) -> LiveRun:
        shown = {name: 1.09 * table.metrics[name] for name in COMPARED}
        shown["delay_p95_ms"] = 1.11 * table.metrics["delay_p95_ms"]
        return LiveRun(Duration.parse("3s"), {}, shown, 7)

    monkeypatch.setattr(live, "play", shifted)
    assert main(SHORT) == 1
    printed = capsys.readouterr().out
    assert "+11.0%  differs" in " ".join(printed.split()).replace("% ", "%  ")
    assert printed.count("agrees") == len(COMPARED) - 1
    assert "completed by repair packets: 7" in printed


def test_a_metric_without_a_value_agrees_only_with_none() -> None:
    assert Row("delay_p50_ms", None, None).agrees
    assert not Row("delay_p50_ms", None, 80.0).agrees
    assert not Row("fps", 30.0, 0.0).agrees
    assert Row("fps", 0.0, 0.0).agrees


def test_ctrl_c_ends_a_live_session(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    encode = LiveEncoder.encode

    def interrupted(self: LiveEncoder, frame: int, reference: int | None, target: float) -> tuple[float, float, float]:
        if frame == 3:
            signal.raise_signal(signal.SIGINT)
        return encode(self, frame, reference, target)

    monkeypatch.setattr(LiveEncoder, "encode", interrupted)
    assert main(SHORT) == 130
    reported = capsys.readouterr()
    assert reported.out == ""
    assert "Traceback" not in reported.err


@pytest.mark.parametrize("module", ["av", "skimage.metrics"])
def test_a_missing_extra_is_named(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(SHORT) == 2
    assert "pip install 'fairweir[video]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--duration", "31s"], "a live run is at most 30 s long: `31s`"),
        (["--duration", "1s"], "at least 3s"),
        (["--sender", "salsify"], "no live encoder for the sender `salsify` (--sender)"),
        (["--encoder", "screen-vp8"], "no live encoder for the table `screen-vp8` (--encoder)"),
    ],
)
def test_options_that_a_live_run_lacks_are_one_error(
    words: list[str], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("encodes before it has checked its input")

    monkeypatch.setattr(LiveEncoder, "encode", refuse)
    assert main([*SHORT, *words]) == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert expected in reported.err.replace("\n", " ")


def test_frames_are_counted_while_they_are_coded_and_decoded(tmp_path: Path) -> None:
    """`play` calls `on_frame` for every frame of both stages, with the same total."""
    path = tmp_path / "short.toml"
    path.write_text(
        'duration = "3s"\nfps = 5\nencoder = "screen-x264"\nlink = { rate = "3Mbps", buffer = "infinite" }\n'
    )
    config = json.loads(VideoScenario.load(path).config(Sender.parse("fixed:1Mbps")))
    seen: list[tuple[str, int, int]] = []
    live.play(config, "screen", on_frame=lambda *done: seen.append(done))
    coded = [done for stage, done, total in seen if stage == "encode" and total == 15]
    decoded = [done for stage, done, _ in seen if stage == "decode"]
    assert coded == list(range(1, 16))
    assert decoded == sorted(decoded)
    assert len(decoded) >= 14
