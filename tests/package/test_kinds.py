"""A kind of controller, element, queue or link is one file and one line: nothing else in the crates names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# Code outside of tests; the hot path of a hop and its callers may match on kinds that they treat apart.
SOURCES = [path for path in Path("crates").glob("*/src/**/*.rs") if "tests" not in path.stem]


def rows(file: str) -> list[tuple[str, str, str]]:
    """Return kind, module and parameters of the lists of kinds in `file`."""
    return re.findall(r"^ +(\w+) = (\w+)::(\w+);$", Path(file).read_text(), re.MULTILINE)


def code(path: Path) -> str:
    return re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]\nmod tests")[0])


def places(word: str, own: set[str]) -> list[str]:
    """Return the lines that have `word`, outside of the files and folders with the stems `own`."""
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
    # Parts that others are made of: a scenario in Rust, a private link, a trace file.
    used = {"ConstantConfig", "DroptailConfig", "TraceConfig", "PrivateLinkConfig"}
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
        # Its name as a scenario writes it is in its own file alone.
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
