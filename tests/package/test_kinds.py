"""Each extension (path element, queue, link, CCA, policy, experiment) is one file, or one file and a line in a list.

No other code names it. Path elements, queues and links are called *kinds*, as in scenario files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fairweir import papers
from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.papers.catalogue import computed_entries
from fairweir.play.batch import Archive
from fairweir.reproduce.index import Index, items_of_experiments, load_index

# Rust code except tests.
SOURCES = [path for path in Path("crates").glob("*/src/**/*.rs") if "tests" not in path.stem]


def rows(file: str) -> list[tuple[str, str, str]]:
    """Return (kind, module, type of the parameters) for each line of the list of kinds in `file`."""
    return re.findall(r"^ +(\w+) = (\w+)::(\w+);$", Path(file).read_text(), re.MULTILINE)


def code(path: Path) -> str:
    return re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]\nmod tests")[0])


def places(word: str, own: set[str]) -> list[str]:
    """Return the lines that contain `word`, except in files and folders with the stems `own`."""
    found = []
    for path in SOURCES:
        if path.stem in own or own & set(path.parts):
            continue
        lines = [line.strip() for line in code(path).split("\n")]
        found += [f"{path}: {line}" for line in lines if re.search(rf"(?<!\w){word}(?!\w)", line)]
    return found


@pytest.mark.parametrize(
    "file", ["crates/path/src/lib.rs", "crates/path/src/queue/mod.rs", "crates/path/src/link/mod.rs"]
)
def test_the_parameters_of_a_part_are_named_in_one_line(file: str) -> None:
    listed = rows(file)
    assert len(listed) >= 4
    # Kinds that other code uses: a scenario in Rust, a private link, a trace file, the jitter of fairweir-testing.
    used = {"ConstantConfig", "DroptailConfig", "TraceConfig", "PrivateLinkConfig", "UniformConfig"}
    for _, module, parameters in listed:
        if parameters not in used:
            assert len(places(parameters, {module})) == 1, places(parameters, {module})


def controllers() -> list[str]:
    listed = re.search(r"\nalgorithms! \{\n(.*?)\n\}", Path("crates/cca/src/lib.rs").read_text(), re.DOTALL)
    assert listed
    return [name for name in re.findall(r"^ +(\w+),$", listed[1], re.MULTILINE) if name != "dummy"]


def test_a_controller_in_rust_is_named_in_one_line() -> None:
    names = controllers()
    assert len(names) >= 14
    for name in names:
        assert sum(f"crates/cca/src/lib.rs: {name}," == place for place in places(name, {name})) == 1
        # The name in scenarios is only in the kind's file.
        assert [place for place in places(f'"{name}"', {name}) if place.startswith("crates/cca/")] == [], name


def test_the_table_of_a_policy_is_named_in_one_line() -> None:
    text = Path("crates/guard/src/policy/mod.rs").read_text()
    listed = re.findall(r"^    (\w+): \w+<(\w+)>;$", text, re.MULTILINE)
    assert len(listed) >= 5
    for module, table in listed:
        found = [place for place in places(table, {module}) if place.startswith("crates/guard/")]
        assert len(found) == 1, found


def test_every_list_has_a_dummy_that_only_tests_see() -> None:
    for file in (
        "crates/path/src/jitter",
        "crates/path/src/queue",
        "crates/path/src/link",
        "crates/cca/src",
        "crates/guard/src/policy",
    ):
        assert Path(file, "dummy.rs").exists()
    for file in ("crates/path/src/lib.rs", "crates/path/src/queue/mod.rs", "crates/path/src/link/mod.rs"):
        assert re.search(r"#\[cfg\(test\)\]\n +Dummy = ", Path(file).read_text())
    assert re.search(r"#\[cfg\(test\)\]\n +dummy,", Path("crates/cca/src/lib.rs").read_text())
    assert re.search(r"#\[cfg\(test\)\]\n +dummy: ", Path("crates/guard/src/policy/mod.rs").read_text())


def index(folder: Path) -> Index:
    return load_index(items_of_experiments(folder) | {entry.id: entry.items for entry in computed_entries()})


def row(found: Index, name: str) -> Any:
    return next(row for row in found.row if row.name == name)


#: An item that nothing reproduces, and the reason in the index.
OPEN = "thesis figure 1.1"


def test_a_published_experiment_is_one_file(tmp_path: Path) -> None:
    shipped_folder = shipped.folder("experiments")
    assert row(index(shipped_folder), OPEN).verdict == "lacks"
    for path in shipped_folder.glob("*.toml"):
        (tmp_path / path.name).symlink_to(path)
    text = (shipped_folder / "thesis-2.1.toml").read_text()
    (tmp_path / "dummy.toml").write_text(re.sub(r"items = .*", f'items = ["{OPEN}"]', text))
    found = row(index(tmp_path), OPEN)
    assert (found.verdict, found.by, found.why) == ("runs", ["dummy"], "")
    assert main(["reproduce", "dummy", "--experiments", str(tmp_path), "--list"]) == 0


DUMMY = f"""
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

SETUP: str = "a dummy"


@computed("dummy-1", title="A dummy", source="none", published="1", setup=f"{{SETUP}}, alone", items=("{OPEN}",))
def dummy(_):
    return Computation([Number("a", "is one", "number", 1.0, Bound(at_most=1.0), 1.0)])
"""


def test_a_computed_figure_is_one_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dummy_paper.py").write_text(DUMMY)
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    found = row(index(shipped.folder("experiments")), OPEN)
    assert (found.verdict, found.by) == ("runs", ["dummy-1"])
    (entry,) = (entry for entry in computed_entries() if entry.id == "dummy-1")
    assert entry.setup == "a dummy, alone"
    (finding,) = entry.compute(Archive(None))
    assert finding.outcome == "holds"
    assert main(["reproduce", "dummy-1", "--list"]) == 0
