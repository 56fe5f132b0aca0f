"""``fairweir list``: the shipped CCAs, scenarios, rules, policies and other files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile
from typing import Annotated, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from fairweir import extras
from fairweir.ccas.lookup import algorithms
from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.documents import shipped
from fairweir.documents.suggestions import did_you_mean
from fairweir.documents.toml import read_document
from fairweir.errors import ConfigError

#: The keys of :data:`_SOURCES`, for the help text.
KINDS = (
    "ccas, rules, controllers, exhibits, scenarios, experiments, video, encoders, senders, lessons, policies, "
    "challenges, models, queries, suites"
)


#: Units by the suffix of a parameter's name (CONTRIBUTING.md); values that are texts contain their unit.
_UNITS: Final = {"_pkts": "packets", "_bytes": "bytes", "_mbps": "Mbit/s", "_ms": "ms", "_us": "us", "_s": "s"}


def list_all(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KIND]...", help=f"{KINDS}, or the name of a CCA; default: all kinds."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List shipped CCAs, scenarios, rules, policies, ... by the names that commands accept, or a CCA's parameters."""
    ccas = algorithms()
    for kind in kinds or ():
        if kind not in _SOURCES and kind not in ccas:
            raise ConfigError(f"nothing to list: `{kind}`", hint=did_you_mean(kind, [*_SOURCES, *ccas]))
    found = {}
    for name in kinds or _SOURCES:
        try:
            found[name] = _SOURCES[name]() if name in _SOURCES else _parameters(name)
        except ModuleNotFoundError as error:
            lacking = extras.missing(error.name, name)
            if lacking is None or kinds:
                raise
            output.stderr.print(f"{lacking}; {lacking.hint}", soft_wrap=True)
    if as_json:
        output.print_json(found)
        return
    for name, rows in found.items():
        table = Table(title=name, title_justify="left", title_style="bold", box=None, show_header=False)
        for row in rows:
            params = ", ".join(f"{key}={json.dumps(value)}" for key, value in row.get("defaults", {}).items())
            version = row.get("version")
            label = f"{row['name']} {version}" if version else row["name"]
            table.add_row(label, Text.assemble(row["summary"], (f"\n{params}" if params else "", "dim")))
        output.stdout.print(table)


def _parameters(cca: str) -> list[dict[str, Any]]:
    """Return the parameters of a CCA, each with its default, and with its unit if the name or the default has one."""
    rows = []
    for key, value in algorithms()[cca].defaults.items():
        unit = next((unit for suffix, unit in _UNITS.items() if key.endswith(suffix)), "")
        rows.append({"name": key, "summary": f"default {json.dumps(value)}{unit and ' ' + unit}", "default": value})
    return rows or [{"name": "-", "summary": "has no parameters"}]


def _ccas() -> list[dict[str, Any]]:
    return [
        {"name": row.name, "summary": row.summary, "defaults": row.defaults, "version": row.version}
        for row in sorted(algorithms().values(), key=lambda row: row.name)
    ]


def _described(*kinds: str) -> list[dict[str, Any]]:
    """Return the files of one or several kinds, each with its `description`."""
    return [
        {"name": name, "summary": _first_line(read_document(file, noun=shipped.KINDS[kind].noun)), "file": str(file)}
        for kind in kinds
        for name, file in shipped.by_name(kind).items()
    ]


def _first_line(document: Mapping[str, Any]) -> str:
    words = document.get("description") or document.get("title") or document.get("summary") or ""
    return str(words).strip().partition("\n")[0]


def _rules() -> list[dict[str, Any]]:
    from fairweir.ccas.rule import Rule

    return [
        {"name": name, "summary": Rule.load(file).summary, "file": str(file)}
        for name, file in shipped.by_name("rules").items()
    ]


def _controllers() -> list[dict[str, Any]]:
    """Return the controller files with their decisions, size and proved claims."""
    from fairweir.ccas.controller_file import Controller, Kind, has_own_proofs, read

    rows = []
    for name, file in shipped.by_name("controllers").items():
        found = Controller.parse(read(file), str(file), is_to_prove=True)
        what = "video frames" if found.kind is Kind.VIDEO else "a rate: a CCA"
        proofs = found.document.get("proofs", [])
        proved = sum(proof["status"] == "proved" for proof in proofs)
        claims = f"{proved} of {len(proofs)} claims proved" if proofs else "no claims"
        if not has_own_proofs(found.document):
            claims = "not proved: the file was changed after the proofs"
        summary = f"decides on {what}; {len(found.leaves)} leaves, {claims}"
        rows.append({"name": name, "summary": summary, "file": str(file)})
    return rows


def _policies() -> list[dict[str, Any]]:
    """Return the policies, each with the comment at the beginning of its file."""
    rows = []
    for name, file in shipped.by_name("policies").items():
        lines = takewhile(lambda line: line.startswith("#"), file.read_text(encoding="utf-8").splitlines())
        rows.append({"name": name, "summary": " ".join(line.lstrip("# ") for line in lines), "file": str(file)})
    return rows


def _models() -> list[dict[str, Any]]:
    from fairweir.formal.models import MODELS, summary

    return [{"name": name, "summary": summary(name)} for name in MODELS]


def _challenges() -> list[dict[str, Any]]:
    from fairweir.guard.challenges import CHALLENGES

    return [{"name": name, "summary": f"{one.incumbent} joined by {one.newcomer}"} for name, one in CHALLENGES.items()]


def _suites() -> list[dict[str, Any]]:
    from fairweir.formal.lemmas.suites import SUITES

    return [{"name": name, "summary": suite.shows} for name, suite in SUITES.items()]


def _lessons() -> list[dict[str, Any]]:
    """Return the lessons of the studio's tour, with their titles."""
    from fairweir.documents.toml import read_document

    return [
        {"name": name, "summary": str(read_document(file, noun="lesson").get("title", ""))}
        for name, file in shipped.by_name("lessons").items()
    ]


def _encoders() -> list[dict[str, Any]]:
    from fairweir.video.tables import load

    rows = []
    for name, file in shipped.by_name("encoders").items():
        table = load(file)
        summary = (
            f"{table.content} by {table.codec}: {len(table.qps)} quantizers, {table.frames} frames at {table.fps}/s"
        )
        rows.append({"name": name, "summary": summary, "file": str(file)})
    return rows


def _senders() -> list[dict[str, Any]]:
    from fairweir.video.senders import ARGUMENTS, senders

    return [
        {
            "name": name,
            "summary": f"{summary}; {name}:ARGUMENT is {ARGUMENTS[name][0]}" if name in ARGUMENTS else summary,
        }
        for name, summary in senders().items()
    ]


def _exhibits() -> list[dict[str, Any]]:
    from fairweir.audit.exhibits.registry import FAMILIES

    return [{"name": family.name, "summary": family.title} for family in FAMILIES.values()]


#: For each kind, the function that returns its rows: name, summary, and further fields (defaults, file).
_SOURCES: Final[Mapping[str, Callable[[], list[dict[str, Any]]]]] = {
    "ccas": _ccas,
    "rules": _rules,
    "controllers": _controllers,
    "exhibits": _exhibits,
    "scenarios": partial(_described, "scenarios"),
    "experiments": partial(_described, "experiments"),
    "video": partial(_described, "video"),
    "encoders": _encoders,
    "senders": _senders,
    "lessons": _lessons,
    "policies": _policies,
    "challenges": _challenges,
    "models": _models,
    "queries": partial(_described, "queries", "game-queries"),
    "suites": _suites,
}
