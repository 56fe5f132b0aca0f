"""Write HTML pages about an evaluation of video senders, or about one video session over time.

A session is one run of a sender over a link. A decision is the sender's choice of target size, repair packets and rate.
A bar is a requirement on a metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fairweir import __version__
from fairweir.documents.atomic_write import write_text
from fairweir.judging.outcome import Interval
from fairweir.show.figure import Figure, rounded, slug
from fairweir.show.page import render_page
from fairweir.show.style import colour, marker
from fairweir.units import Duration
from fairweir.video.evaluate import Evaluation, mean_sessions
from fairweir.video.play import Session
from fairweir.video.scenario import VideoScenario

#: The fate of a frame -> its description on pages.
FATES: Final = {
    "shown": "shown",
    "late": "decoded after a newer one",
    "lost": "lost",
    "skipped": "not coded",
    "dropped": "coded, not sent",
    "pending": "in transit at the end",
}
#: Maximum number of decisions in the table of a session's page; its figures show all decisions.
TABLE_DECISIONS: Final = 300
#: If a figure has more than this number of points, it is drawn with WebGL instead of SVG. Browsers without a graphics
#: card show a warning for WebGL.
MAX_DRAWN: Final = 5000


@dataclass(frozen=True)
class Section:
    """A section of a page, with a table, figures, or both."""

    title: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    figures: Sequence[Figure] = ()

    @property
    def anchor(self) -> str:
        """The HTML id of the section."""
        return slug("section", self.title)


def write_evaluation(found: Evaluation, path: Path) -> Path:
    """Write the page about an evaluation, with its bars, completely or not at all."""
    sections = [_bars(found), *_links(found)]
    seeds = len({one.seed for one in found.sessions})
    facts = f"{len(found.sessions)} sessions, {seeds} {'seed' if seeds == 1 else 'seeds'}; intervals are 95 %."
    return _write(path, "Video senders against their bars", facts, sections)


def write_session(session: Session, scenario: VideoScenario, path: Path) -> Path:
    """Write the page about one session, with all frames and decisions, completely or not at all."""
    numbers = Section(
        "Numbers",
        ("metric", "value"),
        [(key.replace("_", " "), _text(value)) for key, value in (session.metrics | session.traffic).items()],
    )
    sections = [numbers, _timeline(session), *_decisions(session)]
    facts = f"{scenario.description or scenario.name} Frames of {session.encoder}, seed {session.seed}."
    return _write(path, f"{session.sender} over {session.scenario}", facts, sections)


def _write(path: Path, title: str, facts: str, sections: list[Section]) -> Path:
    page = render_page(
        "video.html.j2",
        package="fairweir.video",
        title=title,
        facts=facts,
        sections=sections,
        figures=[figure for section in sections for figure in section.figures],
        version=__version__,
    )
    return write_text(path, page)


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _ends(value: Interval | None, places: int = 1) -> str:
    return "-" if value is None else f"{value.value:.{places}f} ({value.lo:.{places}f} to {value.hi:.{places}f})"


def _bars(found: Evaluation) -> Section:
    rows = [
        (
            bar.scenario,
            bar.encoder,
            bar.sender,
            bar.quantity,
            f"{'at most' if bar.is_upper else 'at least'} {bar.bound:g}",
            _ends(bar.measured, 2),
            "holds" if bar.holds else "fails",
        )
        for bar in found.bars
    ]
    return Section("Bars", ("link", "frames", "sender", "bar", "bound", "measured", ""), rows)


def _links(found: Evaluation) -> list[Section]:
    means = mean_sessions(found.sessions)
    sections = []
    for link, encoder in dict.fromkeys((one.scenario, one.encoder) for one, _ in means):
        here = [(one.sender, m) for one, m in means if (one.scenario, one.encoder) == (link, encoder)]
        head = ("sender", "delay p50 ms", "delay p95 ms", "SSIM p25 dB", "SSIM p50 dB", "SSIM mean dB", "fps")
        keys = ("delay_p50_ms", "delay_p95_ms", "ssim_p25_db", "ssim_p50_db", "ssim_mean_db", "fps")
        rows = [(sender, *(_ends(m.get(key)) for key in keys)) for sender, m in here]
        sections.append(Section(f"{link}, {encoder}", head, rows, [_scatter(link, encoder, here)]))
    return sections


def _scatter(link: str, encoder: str, here: list[tuple[str, dict[str, Interval]]]) -> Figure:
    data = []
    for i, (sender, m) in enumerate(here):
        p95, ssim = m.get("delay_p95_ms"), m.get("ssim_p50_db")
        if p95 is None or ssim is None:
            continue
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": sender,
                "x": rounded([p95.value]),
                "y": rounded([ssim.value]),
                "error_x": _error(p95),
                "error_y": _error(ssim),
                "marker": {"size": 11, "color": colour(i), "symbol": marker(i)},
            }
        )
    return Figure(
        id=slug("scatter", link, encoder),
        title=f"Quality against delay, {link}",
        caption="Up and to the left is better.",
        data=data,
        layout={
            "xaxis": {"title": {"text": "p95 of delay, ms"}, "type": "log", "dtick": "D2"},
            "yaxis": {"title": {"text": "median SSIM, dB"}},
            "showlegend": True,
        },
        height=380,
        is_wide=True,
    )


def _error(value: Interval) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": rounded([value.hi - value.value]),
        "arrayminus": rounded([value.value - value.lo]),
        "thickness": 1,
    }


def _timeline(session: Session) -> Section:
    shown = [one for one in session.frames if one["fate"] == "shown"]
    delay = [
        _line(shown, "capture to display", lambda one: one["shown_ms"] - one["captured_ms"], 0, "markers"),
        _line(
            [one for one in shown if one["sent_ms"] is not None],
            "capture to pacer",
            lambda one: one["sent_ms"] - one["captured_ms"],
            1,
            "markers",
        ),
    ]
    for i, fate in enumerate(("late", "lost", "skipped", "dropped", "pending")):
        several = [one for one in session.frames if one["fate"] == fate]
        if several:
            delay.append(_line(several, FATES[fate], lambda _one: 0.0, i + 2, "markers"))
    quality = [_line(session.frames, "SSIM on display", lambda one: one["ssim_db"], 0, "lines")]
    return Section(
        "Frames",
        figures=[
            _over_time("frames-delay", "Delay of each frame by its capture, ms", delay, "ms"),
            _over_time("frames-quality", "SSIM of what is on display for each frame, dB", quality, "dB"),
        ],
    )


def _decisions(session: Session) -> list[Section]:
    if not session.decisions:
        return []
    beliefs = [
        _decided(session.decisions, "min C", lambda one: one["min_c"], 0),
        _decided(session.decisions, "max C, held", lambda one: one["max_c"], 1),
        _decided(session.decisions, "max Q", lambda one: one["max_q"], 2),
        _decided(session.decisions, "safe rate", lambda one: one["safe_rate"], 3),
    ]
    leaves: dict[str, int] = {}
    for one in session.decisions:
        leaves[one["leaf"]] = leaves.get(one["leaf"], 0) + 1
    counts = ", ".join(f"{leaf} {n}" for leaf, n in sorted(leaves.items(), key=lambda item: -item[1]))
    figure = _over_time(
        "beliefs",
        "Beliefs: C and the safe rate in packets per step, Q in packets",
        beliefs,
        "packets",
        caption=f"Leaves: {counts}.",
    )
    head = ("ms", "leaf", "belief", "min C", "max C", "max Q", "R0", "pacer", "frames", "message", "repair", "encode B")
    rows = [
        (
            f"{one['at_ms']:.0f}",
            one["leaf"],
            one["belief"],
            *(_text(one[key]) for key in ("min_c", "max_c", "max_q", "safe_rate", "backlog")),
            " ".join(map(str, one["frames"])) or "-",
            str(one["message"]),
            str(one["repair"]),
            f"{one['encode_bytes']:.0f}",
        )
        for one in session.decisions[:TABLE_DECISIONS]
    ]
    return [Section("Beliefs", figures=[figure]), Section("Decisions, the first ones", head, rows)]


def _line(several: Sequence[dict[str, Any]], name: str, value: Any, index: int, mode: str) -> dict[str, Any]:
    return {
        "type": "scatter" if len(several) <= MAX_DRAWN else "scattergl",
        "mode": mode,
        "name": name,
        "x": rounded([Duration.from_ms(one["captured_ms"]).s for one in several]),
        "y": rounded([value(one) for one in several]),
        "marker": {"size": 4, "color": colour(index), "symbol": marker(index)},
        "line": {"color": colour(index), "width": 1.2},
    }


def _decided(several: Sequence[dict[str, Any]], name: str, value: Any, index: int) -> dict[str, Any]:
    return _line([{**one, "captured_ms": one["at_ms"]} for one in several], name, value, index, "lines")


def _over_time(name: str, title: str, data: list[dict[str, Any]], unit: str, caption: str = "") -> Figure:
    return Figure(
        id=name,
        title=title,
        caption=caption,
        data=data,
        layout={
            "xaxis": {"title": {"text": "time, s"}},
            "yaxis": {"title": {"text": unit}, "rangemode": "tozero"},
            "showlegend": True,
        },
        height=340,
        is_wide=True,
    )
