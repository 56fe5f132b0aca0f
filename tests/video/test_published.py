"""Published statements about Syntra's video, compared with our results: links, comparisons and valid reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairweir.errors import ConfigError
from fairweir.papers.syntra.video import MADE_UP, OURS, TRACES, TRACES_VARIABLE, cellular, compare
from fairweir.play.batch import Archive
from fairweir.video.scenario import VideoScenario


def test_made_up_cellular_links_vary_and_have_outages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRACES_VARIABLE, raising=False)
    found = cellular(60)
    assert [one.name for one in found] == [one.name for one in MADE_UP]
    assert [one.link for one in found] == [one.link for one in cellular(60)]
    for one in found:
        rates = [float(rate.removesuffix("Mbps")) for _, rate in one.link.steps or ()]
        assert len(rates) == 300
        assert max(rates) > 3 * min(rates)
    slow = [rate for _, rate in MADE_UP[1].scenario(600).link.steps or ()]
    assert "0.05Mbps" in slow


def test_traces_are_run_by_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(TRACES_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match="no such trace"):
        cellular(60)
    for name in TRACES:
        (tmp_path / name).write_text("".join(f"{5 * t}\n" for t in range(1, 400)))
    assert [one.name for one in cellular(60)] == [Path(name).stem for name in TRACES]


def test_statements_are_made_of_every_link_and_sender(tmp_path: Path) -> None:
    fixed = VideoScenario.load("fixed").override(duration="6s")
    slow = MADE_UP[1].scenario(6)
    made = compare([fixed, slow], Archive(tmp_path))
    of = {(one.case, one.claim, one.reading.split(";")[0]): one for one in made.numbers}
    assert len(of) == len(made.numbers) == 2 * len(OURS) * 5 + len(OURS)
    assert {one.bound.at_least for one in made.numbers} == {6.0, 2.0, 0.0}
    # The reason why no sender can be better is given, and does not justify being far worse.
    reasons = [one for one in made.numbers if one.why]
    assert any("frames per second" in one.why for one in reasons)
    assert all(one.value is not None and one.value > -1 for one in reasons)
    far = [one for one in made.numbers if one.claim == "frame rate higher" and (one.value or 0) < -0.5]
    assert all(one.why == "" for one in far)
    # A constant upper limit is not a reason on a link with varying rate.
    quality = of[f"{slow.name}, rules", "median SSIM more than 2 dB higher", "ours minus Salsify's, dB"]
    assert quality.why == ""
    # Finished sessions are stored and reused.
    lines = (tmp_path / "video" / "sessions.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 5 * 3
    again = compare([fixed, slow], Archive(tmp_path))
    assert [one.value for one in again.numbers] == [one.value for one in made.numbers]
    assert len((tmp_path / "video" / "sessions.jsonl").read_text().splitlines()) == len(lines)
    assert made.draw is not None
    assert len(made.draw().axes) == 2
