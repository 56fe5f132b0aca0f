"""The lessons of the tour: each slider changes what its lesson says."""

from __future__ import annotations

import pytest

from fairweir.judging.differences import differences
from fairweir.play.run import run
from fairweir.scenario.model import Scenario
from fairweir.studio.form import form_of
from fairweir.studio.lessons import Lesson, lessons

#: Relative change up to which a quantity counts as unchanged.
SAME = 0.02


def test_there_are_ten_lessons_in_order() -> None:
    assert [name.partition("-")[0] for name in lessons()] == [f"{i:02d}" for i in range(1, 11)]


@pytest.mark.parametrize("name", lessons())
def test_the_slider_is_in_the_form(name: str) -> None:
    lesson = lessons()[name]
    scenario = Scenario.from_toml(lesson.to_toml())
    fields = [field for group in form_of(scenario, lesson.scenario) for field in group["fields"]]
    assert "slider" in next(field for field in fields if field["key"] == lesson.slider.key)


@pytest.mark.parametrize("name", lessons())
def test_the_slider_answers_the_question(name: str) -> None:
    lesson = lessons()[name]
    found = [quantity_of(lesson, value) for value in lesson.shows.values]
    first, last = found[0], found[-1]
    if lesson.shows.change == "stays":
        assert max(found) - min(found) <= SAME * max(found)
    else:
        assert found == sorted(found, reverse=lesson.shows.change == "falls")
        assert first != last


def quantity_of(lesson: Lesson, value: str | int) -> float:
    scenario = Scenario.from_dict(lesson.scenario).override({lesson.slider.key: value})
    summaries = [run(scenario).summary]
    rows = differences(summaries, summaries)
    return next(row.first for row in rows if (row.of, row.quantity) == (lesson.shows.of, lesson.shows.quantity))
