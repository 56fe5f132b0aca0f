"""Read the known reasons for differences between the simulator and the kernel from a file.

A cell is one CCA in one scenario, which both run. If the results differ, the known reason is shown with the cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairweir.agree.compare import Cell, Standing
from fairweir.documents.toml import read_document
from fairweir.documents.validation_errors import explain

#: Path of the file, relative to a directory of scenarios.
FILE = Path("known") / "differences.toml"


class Difference(BaseModel):
    """The known reason why a CCA differs in a scenario; ``*`` in either name matches any text."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    cca: str = Field(min_length=1)
    scenario: str = Field(min_length=1)
    why: str = Field(min_length=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    difference: list[Difference] = []


def load(directory: Path) -> list[Difference]:
    """Return the known reasons that a directory of scenarios contains; the list is empty if the file does not exist.

    Raises
    ------
    ConfigError : the file is invalid
    """
    path = directory / FILE
    if not path.exists():
        return []
    document = read_document(path)
    try:
        return _File.model_validate(document).difference
    except ValidationError as error:
        raise explain(error, _File, document, str(path)) from None


def annotate(cells: Iterable[Cell], known: Sequence[Difference]) -> None:
    """Set the attribute `known` of each cell that differs and has a known reason."""
    for cell in cells:
        if cell.standing is Standing.DIFFERS:
            matching = (d.why for d in known if fnmatchcase(cell.cca, d.cca) and fnmatchcase(cell.scenario, d.scenario))
            cell.known = next(matching, "")
