"""Write the reference of all commands from the program itself, into the page that has the line MARK."""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from sphinx.application import Sphinx

from fairweir.cli.commands import COMMANDS
from fairweir.cli.main import app as program

MARK = "<!-- commands -->"
#: Characters of a help text that Markdown would read; code between backticks is left alone.
SPECIAL = re.compile(r"([\\*_\[\]<>|{}#])")


def markdown(text: str) -> str:
    """Return a help text as Markdown: its paragraphs on lines of their own, and its characters as they are."""
    parts = re.split(r"(`[^`]*`)", text.strip())
    return "".join(part if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in parts)


def cell(text: str) -> str:
    """Return Markdown for a cell of a table."""
    return " ".join(re.sub(r"(`[^`]*`)", lambda code: code[0].replace("|", "\\|"), text).split())


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command as it is typed, with its object; a group comes before its commands."""
    for name in COMMANDS:
        found: Any = typer.main.get_command(program([name]))
        command = found.commands[name]
        yield name, command
        for word, below in getattr(command, "commands", {}).items():
            yield f"{name} {word}", below


def parameter(of: Any, context: Any) -> str:
    """Return the row of one argument or option."""
    is_option = of.param_type_name == "option"
    names = ", ".join(of.opts + of.secondary_opts) if is_option else of.display_name_raw
    kind = "" if is_option and of.is_flag else re.sub(r"list\[(.*)\]", r"\1", of.display_type_rich(context) or "")
    shown = f"`{names}`" + (f" `{kind.strip('<>')}`" if kind and is_option else "")
    help_text = markdown(of.help or "")
    default = of._extract_default_help_str(ctx=context) if is_option else ""
    if is_option and default not in (None, "", False) and of.show_default:
        help_text += f" Default: `{default}`."
    return f"| {cell(shown)} | {cell(help_text)} |"


def section(name: str, command: Any) -> str:
    """Return the section of one command."""
    level = "##" if " " not in name else "###"
    context = command.context_class(command, info_name=f"fairweir {name}")
    text = [f"{level} fairweir {name}", *(markdown(p) for p in (command.help or "").split("\n\n"))]
    if not hasattr(command, "commands"):
        usage = " ".join([f"fairweir {name}", *command.collect_usage_pieces(context)])
        text.append(f"```text\n{textwrap.fill(usage, 100, subsequent_indent='    ')}\n```")
        shown = [one for one in command.params if one.name != "help" and not getattr(one, "hidden", False)]
        for title, kind in (("Argument", "argument"), ("Option", "option")):
            rows = [parameter(one, context) for one in shown if one.param_type_name == kind]
            if rows:
                text.append("\n".join([f"| {title} | Meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(text)


def write(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the mark in the page that has it."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n\n".join(section(name, command) for name, command in commands()))


def reread(app: Sphinx, env: object, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Return the page: commands change without its file."""
    importlib.invalidate_caches()
    return ["reference/commands"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the page with Sphinx."""
    app.connect("source-read", write)
    app.connect("env-get-outdated", reread)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
