"""``fairweir list``: what there is."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cca import algorithms
from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import ConfigError

KINDS = ("ccas", "rules", "exhibits")


def list_all(
    kind: Annotated[
        str | None, typer.Argument(metavar="[ccas|rules|exhibits]", help="One of them; default all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List congestion controllers with their parameters, rules, and the exhibits of an audit."""
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"nothing to list: `{kind}`", hint=f"write {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    sources = {"ccas": _ccas, "rules": _rules, "exhibits": _exhibits}
    found = {name: rows() for name, rows in sources.items() if kind in {None, name}}
    if as_json:
        output.print_json(found)
        return
    for name, rows in found.items():
        table = Table(title=name, title_justify="left", title_style="bold", box=None, show_header=False)
        for row in rows:
            params = ", ".join(f"{key}={json.dumps(value)}" for key, value in row.get("defaults", {}).items())
            table.add_row(row["name"], row["summary"] + (f"\n[dim]{params}[/dim]" if params else ""))
        output.stdout.print(table)


def _ccas() -> list[dict[str, Any]]:
    return [
        {"name": row.name, "summary": row.summary, "defaults": row.defaults}
        for row in sorted(algorithms().values(), key=lambda row: row.name)
    ]


def _rules() -> list[dict[str, Any]]:
    from fairweir.formal.rule import RULES, Rule

    rules = [Rule.load(file) for file in sorted(RULES.glob("*.toml"))]
    return [{"name": f"rules/{rule.name}.toml", "summary": rule.summary} for rule in rules]


def _exhibits() -> list[dict[str, Any]]:
    from fairweir.audit.exhibits.registry import FAMILIES

    return [{"name": family.name, "summary": family.title} for family in FAMILIES.values()]
