"""Runs as one HTML file, which is interactive and works without network access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairweir.documents.digits import plain
from fairweir.judging.differences import Difference, differences
from fairweir.play.course import Course
from fairweir.show.courses import Drawing, drawing_of
from fairweir.show.page import render_page


@dataclass(frozen=True)
class _Line:
    """A row of a table: a quantity with one cell per course, and the differences from the first."""

    of: str
    quantity: str
    cells: tuple[str, ...]


def runs_page(title: str, courses: Sequence[Course], scenarios: Sequence[tuple[str, str]]) -> str:
    """Return a page with the courses of runs, drawn over each other, and their summaries next to each other.

    Parameters
    ----------
    title : str
    courses : at least one; the others are compared with the first
    scenarios : pairs of a heading and a text in TOML, from which the runs can be repeated
    """
    return render_page(
        "runs.html.j2",
        package="fairweir.show",
        title=title,
        labels=[one.picture.label for one in courses],
        not_judged=[(one.picture.label, one.not_judged) for one in courses if one.not_judged],
        lines=_lines(courses),
        scenarios=scenarios,
        figures=(),
        drawing=_drawing(courses),
    )


def course_page(title: str, course: Course) -> str:
    """Return a page with only the figures of a course over time, for the output of a notebook's cell."""
    return render_page(
        "course.html.j2",
        package="fairweir.show",
        title=title,
        not_judged=course.not_judged,
        drawing=_drawing([course]),
    )


def _drawing(courses: Sequence[Course]) -> Drawing:
    return drawing_of({"runs": [one.picture for one in courses]})


def _lines(courses: Sequence[Course]) -> list[_Line]:
    first = list(courses[0].summaries)
    found: dict[tuple[str, str], list[str]] = {}
    for number, course in enumerate(courses):
        for row in differences(first, list(course.summaries)):
            name = row.of.partition(" / ")[0]
            cells = found.setdefault((name, row.quantity), [""] * len(courses))
            cells[number] = _cell(row, is_first=number == 0)
    return [_Line(of, quantity, tuple(cells)) for (of, quantity), cells in found.items()]


def _cell(row: Difference, *, is_first: bool) -> str:
    value = f"{plain(row.second, 4)} {row.unit}".rstrip()
    if is_first:
        return value
    interval = "" if row.lo is None or row.hi is None else f" [{row.lo:+.3g}, {row.hi:+.3g}]"
    return f"{value} ({row.difference:+.3g}{interval})"
