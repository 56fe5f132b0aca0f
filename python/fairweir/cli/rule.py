"""``fairweir rule``: the content of a rule file, and the kernel C generated from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fairweir.ccas.generate import controller, decision_header
from fairweir.ccas.rule import Rule, find_rule
from fairweir.cli import output
from fairweir.cli.options import AsJson


class Form(StrEnum):
    """Format of a rule."""

    TOML = "toml"
    C = "c"
    HEADER = "h"


def rule(
    name: Annotated[
        str,
        typer.Argument(metavar="RULE", help="The name of a shipped rule (cc_qdel, ...), or a file such as mine.toml."),
    ],
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="toml: the rule with its decisions; c: the generated kernel C; h: a header with the decisions.",
        ),
    ] = Form.TOML,
    as_json: AsJson = False,
) -> None:
    """Check a rule file; print the rule's decisions, or the kernel C generated from the rule."""
    found = Rule.load(find_rule(name))
    text = controller(found)
    if as_json:
        rows = [
            {"when": [condition.text for condition in branch.conditions], "rate": str(branch.rate)}
            for branch in found.branches
        ]
        document = {"name": found.name, "beliefs": found.beliefs.name, "branch": rows}
        words = {"summary": found.summary, "description": found.description, "source": found.source}
        output.print_json({**document, **words, "c": text})
        return
    typer.echo({Form.TOML: found.to_toml(), Form.C: text, Form.HEADER: decision_header(found)}[form], nl=False)
