"""Coverage of every figure, table and theorem of the papers: ``index.toml``, read and checked.

A row names the experiment (``thesis-2.1``) or the command (``fairweir prove frcc``) that reproduces it, or the reason
why not.
"""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from rich.table import Table

from fairweir.documents.quantities import invalid
from fairweir.documents.toml import read_document
from fairweir.documents.validation_errors import explain

Verdict = Literal["runs", "lacks", "missing", "not reproducible", "illustration"]

SAYS: dict[Verdict, str] = {
    "runs": "reproduced, by an experiment or a command",
    "lacks": "needs hardware, data or text that is not available",
    "missing": "could be reproduced, and is not yet",
    "not reproducible": "has nothing that can be run",
    "illustration": "a diagram without data",
}
"""Meaning of each verdict."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Paper(_Table):
    """A document and the numbers of its items, collected by hand: kind of item to its numbers."""

    id: str
    title: str
    items: dict[str, list[str]]


class Row(_Table):
    """An item of a paper.

    Attributes
    ----------
    paper : str, a Paper's id
    item : str, as printed: "figure 2.1"
    by : list of str, ids of experiments, or commands
    why : str; why nothing reproduces it, or what is omitted
    """

    paper: str
    item: str
    shows: str = Field(min_length=1)
    kind: Literal["experiment", "computed", "theorem", "diagram"]
    verdict: Verdict
    by: list[str] = []
    why: str = ""

    @model_validator(mode="after")
    def _has_a_reason(self) -> Row:
        if (self.verdict == "runs") != bool(self.by):
            raise invalid("{noun} needs `by` if it runs, and no `by` if it does not", self.item, "set by = [...]")
        if self.verdict in ("lacks", "missing", "not reproducible") and not self.why:
            raise invalid("{noun} has no reason", self.item, "set why = ...")
        return self


class Index(_Table):
    """All papers and all rows."""

    paper: list[Paper]
    row: list[Row]

    def counts(self) -> Counter[tuple[str, Verdict]]:
        """Number of rows of a paper with a verdict."""
        return Counter((row.paper, row.verdict) for row in self.row)


def load_index() -> Index:
    """Read the index.

    Raises
    ------
    ConfigError : a key or a value is wrong
    """
    from pathlib import Path

    path = Path(str(files("fairweir.reproduce") / "index.toml"))
    document = read_document(path)
    try:
        return Index.model_validate(document)
    except ValidationError as error:
        raise explain(error, Index, document, str(path)) from None


def tables(index: Index) -> list[Table]:
    """Return one table per paper, as printed."""
    shown = []
    for paper in index.paper:
        table = Table("item", "what it shows", "verdict", "reproduced by, or reason", title=paper.title, box=None)
        for row in index.row:
            if row.paper == paper.id:
                table.add_row(row.item, row.shows, row.verdict, "; ".join(filter(None, [", ".join(row.by), row.why])))
        shown.append(table)
    return shown


def page(index: Index) -> str:
    """Return docs/gallery.md's list: one Markdown table per paper."""
    lines = []
    counts = index.counts()
    for paper in index.paper:
        reported = ", ".join(f"{counts[paper.id, verdict]} {verdict}" for verdict in SAYS if counts[paper.id, verdict])
        lines += [f"## {paper.title}", "", f"{reported}.", "", "| item | shows | verdict | reproduced by, or reason |"]
        lines += ["| --- | --- | --- | --- |"]
        for row in index.row:
            if row.paper == paper.id:
                by = "; ".join(filter(None, [", ".join(map(_shown_by, row.by)), row.why]))
                lines.append(f"| {row.item} | {row.shows} | {row.verdict} | {by} |")
        lines.append("")
    return "\n".join(lines)


def _shown_by(name: str) -> str:
    """Return a command, or an experiment with a link to its result (headings lose their dots in anchors)."""
    return f"`{name}`" if name.startswith("fairweir ") else f"[`{name}`](outcomes.md#{name.replace('.', '')})"
