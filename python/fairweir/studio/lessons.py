"""Lessons of the tour: a scenario, two paragraphs, a question, and a slider that answers it (`lessons/`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairweir.documents import shipped
from fairweir.documents.toml import dump_document, read_document
from fairweir.documents.validation_errors import explain
from fairweir.scenario.model import Scenario

#: Before the name of a lesson where names of scenarios are expected.
PREFIX: Final = "lesson:"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Slider(_Model):
    """The slider that answers the question; ``key`` is the dotted key of a value of the scenario."""

    key: str


class Shows(_Model):
    """Claim about the change of a summary's quantity between the first and the last of some values of the slider."""

    values: list[str | int] = Field(min_length=2)
    of: str
    quantity: str
    change: Literal["rises", "falls", "stays"]


class Lesson(_Model):
    """A lesson."""

    title: str
    text: list[str] = Field(min_length=1)
    question: str
    answer: str
    slider: Slider
    shows: Shows
    scenario: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> Lesson:
        """Read a lesson from a TOML file.

        Raises
        ------
        ConfigError : the file is not a lesson, or its scenario cannot be run
        """
        document = read_document(path, noun="lesson")
        try:
            lesson = cls.model_validate(document)
        except ValidationError as error:
            raise explain(error, cls, document, str(path)) from None
        Scenario.from_dict(lesson.scenario, source=str(path)).override({lesson.slider.key: lesson.shows.values[0]})
        return lesson

    def to_toml(self) -> str:
        """Return the scenario as TOML text."""
        return dump_document({"name": self.title, **self.scenario})

    def document(self) -> dict[str, Any]:
        """Return the lesson for the page, without the scenario."""
        return self.model_dump(exclude={"scenario", "shows"})


@cache
def lessons() -> dict[str, Lesson]:
    """Return the lessons in their order, by the names of their files."""
    return {name: Lesson.load(path) for name, path in shipped.by_name("lessons").items()}
