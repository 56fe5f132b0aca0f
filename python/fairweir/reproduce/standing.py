"""Read the published results that were in doubt, with what settled the question.

A row of ``standing.toml`` is a published result that an experiment did not confirm at first. Its standing is that the
result is reproduced, is refuted, or differs for a reason that an experiment shows.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fairweir.documents.toml import read_document

Standing = Literal["reproduced", "refuted", "explained by an experiment"]


class Row(BaseModel):
    """A published result that was in doubt.

    Attributes
    ----------
    entry : str, the entry of ``fairweir reproduce`` with the numbers; "" if there is none
    claim, published : str, the claim and its published value
    before, now : str, fairweir's value before the question was settled, and now
    standing : Standing
    why : str, the reason, or the page with the reason
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    entry: str
    claim: str = Field(min_length=1)
    published: str = Field(min_length=1)
    before: str = Field(min_length=1)
    now: str = Field(min_length=1)
    standing: Standing
    why: str = Field(min_length=1)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    row: list[Row]


def standing_rows() -> list[Row]:
    """Return all rows, in the order of the file."""
    return _Document.model_validate(read_document(Path(str(files("fairweir.reproduce") / "standing.toml")))).row


def standing_table(entries: Collection[str]) -> list[str]:
    """Return the rows of these entries, and with several of them the rows without an entry, as a Markdown table.

    Without a row the result is empty.
    """
    rows = [row for row in standing_rows() if row.entry in entries]
    if len(rows) > 1:
        rows += [row for row in standing_rows() if not row.entry]
    if not rows:
        return []
    heading = ("entry", "claim", "published", "ours, before", "ours, now", "standing", "reason")
    body = [
        (f"`{r.entry}`" if r.entry else "-", r.claim, r.published, r.before, r.now, r.standing, r.why) for r in rows
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in (heading, ("---",) * len(heading), *body)]
    return ["The following results did not come out at first, or only by a wide bound:", "", *lines, ""]
