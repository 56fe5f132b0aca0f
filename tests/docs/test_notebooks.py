"""The notebooks of the documentation work, and their results are those of any machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tests.docs.pages import ROOT, blocks

CODE = "{code-cell} python3"
#: Texts of the results from which the sentences next to them follow.
SHOWN = {
    "audit-my-cca": ["✗ fails", "coexistence.harm_taken", "<iframe", "random-aggregation", "<td>mean wait</td>"],
    "read-a-capture": ["Limited by a 24.0 Mbit/s bottleneck", "Limited by a policer of 8.", "5.99 Mbit/s"],
    "grid-and-heat-map": ["60 of 60 points finished", "<iframe"],
}
#: Kinds of results that each notebook has.
KINDS = {"text/html", "image/png"}
#: A memory address in the text of an object.
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def execute(cells: list[str], folder: Path) -> list[dict[str, Any]]:
    """Execute cells in a folder; return their outputs in order.

    Raises
    ------
    CellExecutionError : a cell raised an exception
    """
    folder.mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()
    return [output for cell in notebook.cells for output in cell.outputs]


def cells_of(name: str) -> list[str]:
    return [block.text for block in blocks(f"docs/notebooks/{name}.md") if block.language == CODE]


def test_every_notebook_is_tested() -> None:
    found = {path.stem for path in (ROOT / "docs" / "notebooks").glob("*.md")} - {"index"}
    assert found == set(SHOWN)
    assert all(cells_of(name) for name in found)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_works_and_its_results_do_not_depend_on_the_machine(name: str, tmp_path: Path) -> None:
    outputs = execute(cells_of(name), tmp_path / "one")
    texts = [str(output.get("text", "")) + str(output.get("data", {})) for output in outputs]
    assert [output["output_type"] for output in outputs if output["output_type"] == "stream"] == []
    whole = "\n".join(texts)
    assert [text for text in SHOWN[name] if text not in whole] == []
    assert {kind for output in outputs for kind in output.get("data", {})} >= KINDS
    local = (str(tmp_path), str(ROOT), str(Path.home()))
    assert [text for text in local if text in whole] == []
    assert not ADDRESS.search(whole)
    assert execute(cells_of(name), tmp_path / "another") == outputs


def test_an_exception_in_a_cell_is_found(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match="no such name"):
        execute(["raise NameError('no such name')"], tmp_path / "x")
