"""Read the index of all figures, tables and theorems of the papers, which states how fairweir reproduces each of them.

The file ``index.toml`` has a row per item (figure, table or theorem). A row lists the commands that reproduce the item,
such as ``fairweir prove frcc``, or states the reason why nothing reproduces the item. Experiments and computed entries
(:mod:`fairweir.reproduce.computed`) themselves name the items that they reproduce; the verdict of such an item is
``runs``, even if its row has another verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from rich.table import Table

from fairweir.documents.atomic_write import write_text
from fairweir.documents.quantities import invalid
from fairweir.documents.suggestions import did_you_mean
from fairweir.documents.toml import read_document
from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.reproduce.experiment import known_ids

Status = Literal["runs", "lacks", "missing", "not reproducible", "illustration"]

SAYS: dict[Status, str] = {
    "runs": "reproduced, by an experiment or a command",
    "lacks": "needs hardware, data or text that is not available",
    "missing": "could be reproduced, and is not yet",
    "not reproducible": "has nothing that can be run",
    "illustration": "a diagram without data",
}
"""The meaning of each verdict, as shown on the page."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Paper(_Table):
    """A publication with its items: for each kind of item, the numbers; this list was written by hand."""

    id: str
    title: str
    items: dict[str, list[str]]


class Row(_Table):
    """An item of a paper.

    Attributes
    ----------
    paper : str, the id of a Paper
    item : str, the item as the paper names it: "figure 2.1"
    verdict : Status; the file states it only for items that no experiment names
    by : list of str; the commands in the file, and the ids of experiments that name the item
    why : str; the reason why nothing reproduces the item, or the parts that are not reproduced
    """

    paper: str
    item: str
    shows: str = Field(min_length=1)
    kind: Literal["experiment", "computed", "theorem", "diagram"]
    verdict: Status = "runs"
    by: list[str] = []
    why: str = ""

    @property
    def name(self) -> str:
        """The name by which experiments refer to the item: "thesis figure 2.1"."""
        return f"{self.paper} {self.item}"

    @model_validator(mode="after")
    def _has_a_reason(self) -> Row:
        if self.by and self.verdict != "runs":
            raise invalid("{noun} has `by` and does not run", self.item, "leave out verdict")
        if self.verdict in ("lacks", "missing", "not reproducible") and not self.why:
            raise invalid("{noun} has no reason", self.item, "set why = ...")
        return self

    def reproduced_by(self, names: Sequence[str]) -> Row:
        """Return a copy of the row with the ids of experiments that name its item; the verdict of the copy is
        ``runs``.
        """
        if not names:
            return self
        why = self.why if self.verdict == "runs" else ""
        return self.model_copy(update={"verdict": "runs", "by": [*names, *self.by], "why": why})


class Index(_Table):
    """All papers and all rows."""

    paper: list[Paper]
    row: list[Row]

    def counts(self) -> Counter[tuple[str, Status]]:
        """The number of rows for each pair of paper and verdict."""
        return Counter((row.paper, row.verdict) for row in self.row)


def items_of_experiments(directory: Path) -> dict[str, Sequence[str]]:
    """Return the items that each experiment of a directory names. The experiments' scenarios are not validated.

    Raises
    ------
    ConfigError : a file is not TOML
    """
    return {name: read_document(directory / f"{name}.toml").get("items", []) for name in known_ids(directory)}


def load_index(items: Mapping[str, Sequence[str]]) -> Index:
    """Read the index, and check that it agrees with the experiments.

    Parameters
    ----------
    items : id of an experiment or computed entry -> names of the items that it reproduces

    Raises
    ------
    ConfigError : a key or a value is invalid, an experiment names an item that no paper has, or nothing reproduces an
        item whose verdict is ``runs``
    """
    path = Path(str(files("fairweir.reproduce") / "index.toml"))
    document = read_document(path)
    try:
        index = Index.model_validate(document)
    except ValidationError as error:
        raise explain(error, Index, document, str(path)) from None
    by: dict[str, list[str]] = {row.name: [] for row in index.row}
    for name, named in items.items():
        for item in named:
            if item not in by:
                hint = did_you_mean(item, by) or f"add a row to {path}"
                raise ConfigError(f"no paper has the item `{item}`", source=name, key="items", hint=hint)
            by[item].append(name)
    rows = [row.reproduced_by(by[row.name]) for row in index.row]
    for row in rows:
        if row.verdict == "runs" and not row.by:
            raise ConfigError(
                f"nothing runs `{row.name}`", source=str(path), hint="name it in `items` of an experiment"
            )
    return Index(paper=index.paper, row=rows)


def tables(index: Index) -> list[Table]:
    """Return one table per paper, for the terminal."""
    shown = []
    for paper in index.paper:
        table = Table("item", "what it shows", "verdict", "reproduced by, or reason", title=paper.title, box=None)
        for row in index.row:
            if row.paper == paper.id:
                table.add_row(row.item, row.shows, row.verdict, "; ".join(filter(None, [", ".join(row.by), row.why])))
        shown.append(table)
    return shown


#: The line of the page below which the tables are written. The text above this line is kept.
HEADING = "<!-- below: fairweir reproduce --index --page -->\n"


def write_page(index: Index, path: Path) -> None:
    """Write the tables to a Markdown page, and keep the text above :data:`HEADING`."""
    above, found, _ = (path.read_text(encoding="utf-8") if path.exists() else "").partition(HEADING)
    write_text(path, f"{above if found else ''}{HEADING}\n{page(index)}")


def page(index: Index) -> str:
    """Return the content of docs/gallery.md: one Markdown table per paper."""
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
    """Return a command unchanged, and an experiment as a link to its result. Anchors of headings contain no dots."""
    return f"`{name}`" if name.startswith("fairweir ") else f"[`{name}`](outcomes.md#{name.replace('.', '')})"
