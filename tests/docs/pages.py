"""The pages of the documentation as blocks of commands, Python and files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fairweir.cli.commands import COMMANDS
from fairweir.cli.main import app
from fairweir.cli.modes import RULES

ROOT = Path(__file__).parents[2]
#: Pages that the tests read. The change log is excluded, because commands of earlier versions may no longer exist.
PAGES = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
]
BLOCK = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `line` is the line of its opening fence."""

    page: str
    line: int
    language: str
    text: str

    def commands(self) -> Iterator[str]:
        """Yield the commands for readers to type: the lines after a prompt."""
        yield from (line.removeprefix("$ ") for line in self.text.splitlines() if line.startswith("$ "))


def blocks(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[2].strip(), found[3])


def mentions(page: str) -> Iterator[str]:
    """Yield the commands within sentences, and synopses."""
    text = (ROOT / page).read_text(encoding="utf-8")
    yield from (" ".join(found.split()) for found in re.findall(r"`(fairweir [^`]+)`", BLOCK.sub("", text)))
    for block in blocks(page):
        if block.language == "text":
            yield from (line for line in block.text.splitlines() if line.startswith("fairweir "))


def named(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words begin with, and the words after it.

    Raises
    ------
    LookupError : there is no such command
    """
    if words[0] not in COMMANDS:
        raise LookupError(f"no command `{words[0]}`")
    program: Any = typer.main.get_command(app(words))
    command, rest = program.commands[words[0]], words[1:]
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] not in command.commands:
            raise LookupError(f"no command `{words[0]} {rest[0]}`")
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def parse(line: str) -> None:
    """Parse a command as the program does, and apply the rules on options without effect; run nothing.

    Raises
    ------
    TyperException, FairweirError : what the program would report
    """
    words = shlex.split(line, comments=True)[1:]
    command, rest = named(words)
    name = " ".join(words[: len(words) - len(rest)])
    context = command.make_context(f"fairweir {name}", list(rest))
    for rule in RULES.get(name, ()):
        if rule.applies(context.params):
            command._refuse(context, rule)


def check_mention(text: str) -> None:
    """Check that a command and its options exist; values may be placeholders.

    Raises
    ------
    LookupError : there is no such command or option
    """
    words = [word for word in re.split(r"[\s\[\]]+", text) if word]
    if words[1].startswith("--"):
        assert words[1] in {"--version", "--help", "--install-completion"}, text
        return
    command, rest = named([word for word in words[1:] if word != "..."])
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = {word.rstrip(".,") for word in rest if word.startswith("-") and word != "-"} - known
    if unknown:
        raise LookupError(f"no option {', '.join(unknown)}")
