"""The pages of the long commands: the fields of their forms, and the command line that a filled form stands for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.studio.folder import Folder

#: Maximum number of characters of a field.
_MAX_TEXT: Final = 4_000
#: Characters that separate names of files from the rest of a value, as in ``mine.py:Mine{beta=0.5}``.
_SEPARATORS: Final = re.compile(r"[\s{}\[\]()=:,;<>'\"]+")


class Kind(StrEnum):
    """How a field is filled."""

    TEXT = "text"
    WORDS = "words"
    """Several values, separated by spaces."""
    LINES = "lines"
    """Several values, one per line, because they contain spaces."""
    FLAG = "flag"
    CHOICE = "choice"


@dataclass(frozen=True)
class Field:
    """A field of a form: an argument or an option of the command.

    Attributes
    ----------
    name : str
    label : str
    kind : Kind
    help : str, as in the command's help
    option : str, such as ``--ratio``; empty for an argument
    default : str, the value of an empty field, as text
    is_required : bool
    choices : for each choice, the words that it adds to the command line; the first choice is the default
    suggests : str, what the page suggests: "ccas", "rules", "captures" or "policies"; empty for nothing
    """

    name: str
    label: str
    kind: Kind
    help: str
    option: str = ""
    default: str = ""
    is_required: bool = False
    choices: Mapping[str, tuple[str, ...]] | None = None
    suggests: str = ""

    def words(self, value: object) -> list[str]:
        """Return the words of a value on the command line.

        Raises
        ------
        ConfigError : the value has another type, or could be mistaken for an option
        """
        if self.kind is Kind.FLAG:
            if not isinstance(value, bool):
                raise self._error("is a flag")
            return [self.option] if value else []
        if not isinstance(value, str):
            raise self._error("is a text")
        if self.kind is Kind.CHOICE:
            if value not in (self.choices or {}):
                raise self._error(f"has no choice `{value[:60]}`", hint=f"choose {', '.join(self.choices or ())}")
            return list((self.choices or {})[value])
        values = list(self.values(value))
        if self.is_required and not values:
            raise self._error("is required", hint=self.help)
        return [word for one in values for word in ((self.option, one) if self.option else (one,))]

    def values(self, text: str) -> Iterator[str]:
        """Yield the values in the text of a field."""
        if len(text) > _MAX_TEXT:
            raise self._error(f"has more than {_MAX_TEXT} characters")
        for part in _split(text, self.kind):
            if not part.isprintable():
                raise self._error("has characters that cannot be printed")
            if part.startswith("-"):
                raise self._error(
                    f"starts with `-`, as options do: `{part[:60]}`", hint="options have their own fields"
                )
            yield part

    def _error(self, reason: str, hint: str | None = None) -> ConfigError:
        return ConfigError(f"`{self.label}` {reason}", key=self.name, hint=hint)


def _split(text: str, kind: Kind) -> list[str]:
    match kind:
        case Kind.WORDS:
            return text.split()
        case Kind.LINES:
            return [line.strip() for line in text.splitlines() if line.strip()]
        case _:
            return [text.strip()] if text.strip() else []


@dataclass(frozen=True)
class Output:
    """The option that chooses where a command writes its results.

    Attributes
    ----------
    option : str, such as ``--out``
    subject : str, name of the field after which the results are called; empty for none
    suffix : str, for one file next to the subject; empty for a folder below ``results/``
    """

    option: str
    subject: str = ""
    suffix: str = ""

    def path(self, command: str, subjects: list[str]) -> Path:
        """Return the folder or the file, relative to the working folder."""
        if self.suffix:
            return Path(subjects[0]).with_suffix(self.suffix)
        return results_folder(command, *subjects)


@dataclass(frozen=True)
class CommandPage:
    """A command with a page.

    Attributes
    ----------
    name : str, the command as typed, such as ``guard evaluate``
    summary : str, the first paragraph of its help
    fields : the form
    output : Output
    resumes : whether the same command continues interrupted work
    exits : the meanings of its exit codes
    """

    name: str
    summary: str
    fields: tuple[Field, ...]
    output: Output
    resumes: bool
    exits: Mapping[int, str]

    def call(self, values: Mapping[str, Any], folder: Folder) -> Call:
        """Return the call that a filled form stands for.

        Raises
        ------
        ConfigError : a value that is missing, has the wrong type, or names a file outside the folder; ``key`` has the
            name of its field
        """
        if unknown := set(values) - {field.name for field in self.fields}:
            raise ConfigError(f"`fairweir {self.name}` has no field `{min(unknown)[:60]}` here")
        options: list[str] = []
        arguments: list[str] = []
        subjects: list[str] = []
        for field in self.fields:
            default = False if field.kind is Kind.FLAG else next(iter(field.choices)) if field.choices else ""
            value = values.get(field.name, default)
            words = field.words(value)
            if field.kind not in (Kind.FLAG, Kind.CHOICE):
                _check_inside(words, folder, field)
            (options if field.option or field.kind is Kind.CHOICE else arguments).extend(words)
            if field.name == self.output.subject:
                subjects = words
        path = self.output.path(self.name, subjects)
        folder.inside(str(path))
        return Call(self, (*self.name.split(), *arguments, *options, self.output.option, str(path)), path)

    def document(self) -> dict[str, Any]:
        """Return the page for the browser."""
        fields = [
            {**vars(field), "choices": list(field.choices) if field.choices is not None else None}
            for field in self.fields
        ]
        return {"name": self.name, "summary": self.summary, "fields": fields, "resumes": self.resumes}


@dataclass(frozen=True)
class Call:
    """A call of a command.

    Attributes
    ----------
    page : CommandPage
    words : the words of the command line, without the program's name
    output : Path of the folder or the file of the results, relative to the working folder
    """

    page: CommandPage
    words: tuple[str, ...]
    output: Path

    @property
    def line(self) -> str:
        """The command line, for a shell."""
        return shlex.join(["fairweir", *self.words])


#: Returns the page of a command; it imports the command, which takes up to seconds.
Pages = Mapping[str, Callable[[], CommandPage]]


def _check_inside(words: list[str], folder: Folder, field: Field) -> None:
    """Raise an error if a part of the words is a path that leads out of the folder."""
    for word in words:
        for piece in (word, *_SEPARATORS.split(word)):
            if not piece.strip("/"):
                continue
            try:
                folder.inside(piece)
            except ConfigError as error:
                raise ConfigError(f"{error.message}: `{piece[:200]}`", key=field.name, hint=error.hint) from None
