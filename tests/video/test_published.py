"""Published statements about Syntra's video, compared with our results: links, comparisons and valid reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairweir.errors import ConfigError
from fairweir.judging.outcome import Interval
from fairweir.papers.syntra.experiments import (
    PLAINLY,
    Check,
    Experiments,
    delay_reason,
    geometric_mean,
    why_not_better,
    why_not_faster,
)
from fairweir.papers.syntra.video import MADE_UP, OURS, TRACES, TRACES_VARIABLE, cellular, compare
from fairweir.play.batch import Archive
from fairweir.video.play import Session
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
    of = {(one.case, one.claim, one.reading.split(";")[0]) for one in made.numbers}
    assert len(of) == len(made.numbers) == 2 * len(OURS) * 5 + len(OURS)
    assert {one.bound.at_least for one in made.numbers} == {6.0, 2.0, 0.0}
    # Only failed checks have a reason.
    assert all(one.value is not None and one.value < (one.bound.at_least or 0) for one in made.numbers if one.why)
    assert any(one.why for one in made.numbers)
    # Finished sessions are stored and reused.
    lines = (tmp_path / "video" / "sessions.jsonl").read_text().splitlines()
    assert len(lines) == 2 * (5 + 2 + 1 + 2) * 3
    again = compare([fixed, slow], Archive(tmp_path))
    assert [one.value for one in again.numbers] == [one.value for one in made.numbers]
    assert len((tmp_path / "video" / "sessions.jsonl").read_text().splitlines()) == len(lines)
    assert made.draw is not None
    assert len(made.draw().axes) == 2


@pytest.mark.parametrize(
    ("value", "limit", "plain", "reason"),
    [
        (1.1, 4.0, 1.5, "the factor is at most 4.00"),
        (0.5, 2.0, 0.9, "ours is 0.90"),
        (2.0, 13.0, 6.5, "the factor is 6.50 with pictures"),
        # The limit alone does not explain a delay that is longer than GCC's with pictures like GCC's.
        (0.5, 2.0, 0.7, ""),
        (0.5, 2.0, None, ""),
        # The bound can be reached.
        (2.0, 13.0, 4.0, ""),
        (2.0, None, 4.0, ""),
    ],
)
def test_reasons_for_a_longer_delay(value: float, limit: float | None, plain: float | None, reason: str) -> None:
    found = delay_reason(6.0, 0.8, value=value, limit=limit, plain=plain, change=PLAINLY["rules"])
    assert reason in found
    assert bool(reason) == bool(found)


def _point(value: float) -> Interval:
    return Interval(value=value, lo=value, hi=value)


def _check(value: float, bound: float, near: float, known: float, prompt: float) -> tuple[Check, Experiments]:
    """Return a check whose measure reads the value from the session's metrics, and the experiments."""
    sessions = {name: [Session("", "", "", 1, {"x": x}, {})] for name, x in (("known", known), ("prompt", prompt))}
    found = Experiments(sessions["known"], [], {"published": sessions["prompt"]}, {})
    return Check("published", value, bound, near, lambda of: _point(float(of[0].metrics["x"]))), found


@pytest.mark.parametrize(
    ("value", "known", "prompt", "reason"),
    [
        (0.7, 1.0, 0.7, "the difference is at most 1.00 dB for a sender that knows"),
        (-3.0, 1.0, 0.4, "at most 1.00 dB for a sender that knows the link's future rate; 0.40 dB with our decisions"),
        (0.7, 3.0, 2.5, "the difference is 2.50 dB with the same decisions"),
        (-3.0, 1.0, -0.2, ""),
        (0.7, 3.0, 0.9, ""),
    ],
)
def test_reasons_for_a_lower_quality(value: float, known: float, prompt: float, reason: str) -> None:
    found = why_not_better(*_check(value, 2.0, -1.0, known, prompt))
    assert reason in found
    assert bool(reason) == bool(found)


@pytest.mark.parametrize(
    ("value", "theirs", "known", "reason"),
    [
        (-0.2, 30.0, 0.0, "the baseline shows 30.00 of 30"),
        (-1.8, 30.0, -1.5, "the difference is at most -1.50"),
        (-1.8, 30.0, -0.5, ""),
        (-1.8, 30.0, 0.0, ""),
        (-0.2, 29.0, -1.0, ""),
    ],
)
def test_reasons_for_a_lower_frame_rate(value: float, theirs: float, known: float, reason: str) -> None:
    found = why_not_faster(*_check(value, 0.0, -0.5, known, value), theirs=theirs, fps=30.0)
    assert reason in found
    assert bool(reason) == bool(found)


def test_geometric_mean_needs_every_link() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([2.0, None]) is None
