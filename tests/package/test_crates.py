"""The crates' dependencies are those that ARCHITECTURE.md shows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

# Pure crates get time, random streams and sinks as arguments: no files, processes, sockets, clocks.
IMPURE = re.compile(r"std::(fs|env|process|os)\b|\bstd::net::(Tcp|Udp)|\b(SystemTime|Instant)::now|\bunsafe \{")
IMPURE_PACKAGES = {"libc", "nix", "libloading", "libbpf-rs", "libbpf-sys", "socket2", "tempfile", "netlink-sys", "cc"}


def listed() -> dict[str, bool]:
    """Return the crates in the order of ARCHITECTURE.md, and whether each is called pure."""
    rows = re.findall(r"^crates/([a-z]+) +(pure: )?", Path("ARCHITECTURE.md").read_text(), re.MULTILINE)
    return {name: bool(pure) for name, pure in rows}


def dependencies() -> dict[str, set[str]]:
    """Return what each crate depends on, development dependencies excepted; our own crates by their short names."""
    command = ["cargo", "metadata", "--no-deps", "--format-version=1", "--offline", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["packages"]
    return {
        package["name"].removeprefix("fairweir-"): {
            dependency["name"].removeprefix("fairweir-")
            for dependency in package["dependencies"]
            if dependency["kind"] != "dev"
        }
        for package in packages
    }


def upward(order: list[str], arrows: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the dependencies on crates that are not above their dependant in `order`."""
    place = {name: index for index, name in enumerate(order)}
    return [(name, other) for name in order for other in arrows[name] & place.keys() if place[other] >= place[name]]


def test_every_crate_is_listed() -> None:
    assert dependencies().keys() == listed().keys()


def test_crates_depend_only_on_crates_above_them() -> None:
    assert upward(list(listed()), dependencies()) == []
    assert upward(["sim", "scenario"], {"sim": {"scenario"}, "scenario": set()}) == [("sim", "scenario")]


def test_pure_crates_depend_only_on_pure_ones() -> None:
    pure, arrows = listed(), dependencies()
    for name in (name for name, is_pure in pure.items() if is_pure):
        assert not {other for other in arrows[name] if not pure.get(other, True)}, name
        assert not arrows[name] & IMPURE_PACKAGES, name


@pytest.mark.parametrize("line", ["use std::fs;", "let now = Instant::now();", "unsafe { call() }"])
def test_impure_lines_are_recognised(line: str) -> None:
    assert IMPURE.search(line)


def test_pure_crates_have_no_clock_no_files_and_no_unsafe_code() -> None:
    for name in (name for name, is_pure in listed().items() if is_pure):
        for path in Path("crates", name, "src").rglob("*.rs"):
            if path.name in {"main.rs", "tests.rs"}:  # programs read files for their library; tests may, too
                continue
            code = path.read_text().split("#[cfg(test)]")[0]
            found = IMPURE.search(code)
            assert found is None, f"{path}: {found[0]}"


def test_readers_of_configurations_do_not_depend_on_the_simulator() -> None:
    arrows = dependencies()
    assert {name for name in arrows if "sim" in arrows[name]} == {"fuzz", "py"}
    assert {name for name in arrows if "native" in arrows[name]} == {"kernel", "emu", "fuzz", "py"}


def test_errors_that_users_see_have_one_shape() -> None:
    # Wrapped by errors that do: a sender's by Refusal, a feature's by TreesError, a session's by its own parts,
    # a system call's by the error of its crate.
    wrapped = {"SenderError", "SessionError", "SystemError", "feature.rs: ParseError"}
    derived, shaped = set(), set()
    for path in Path("crates").glob("*/src/**/*.rs"):
        text = path.read_text()
        names = re.findall(r"thiserror::Error\)\](?:\n#\[.*\])*\npub (?:enum|struct) (\w+Error)\b", text)
        derived |= {name if path.name != "feature.rs" else f"feature.rs: {name}" for name in names}
        shaped |= set(re.findall(r"impl (?:\w+::)*Hint for (\w+)", text))
    assert len(derived) > 12
    assert derived - shaped == wrapped


def modules(crate: str) -> dict[str, set[str]]:
    """Return which of the crate's top-level modules uses which, tests excepted; re-exports count as their module."""
    folder = Path("crates", crate, "src")
    exports = re.findall(r"pub use (\w+)::(\{[^}]*\}|\w+);", (folder / "lib.rs").read_text())
    home = {name: module for module, names in exports for name in re.findall(r"\w+", names)}
    uses: dict[str, set[str]] = {path.stem: set() for path in folder.iterdir() if path.stem not in {"lib", "main"}}
    for path in folder.rglob("*.rs"):
        module = path.relative_to(folder).parts[0].removesuffix(".rs")
        if module in uses and path.stem != "tests":
            code = re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]\nmod tests")[0])
            words = re.findall(r"\w+", " ".join(re.findall(r"\bcrate::(\{[^}]*\}|\w+)", code)))
            uses[module] |= ({home.get(word, word) for word in words} & uses.keys()) - {module}
    return uses


def in_a_circle(uses: dict[str, set[str]]) -> set[str]:
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = uses[ahead.pop()] - seen
            seen |= new
            ahead += new
        return seen

    return {module for module in uses if module in reached(module)}


def inner_modules(folder: Path) -> dict[str, set[str]]:
    """Return which file of a module's folder uses which other one, tests excepted; the module itself is above them."""
    files = [path for path in folder.glob("*.rs") if path.stem not in {"mod", "tests", "lib", "main"}]
    above = next(path for path in (folder / "mod.rs", folder.with_suffix(".rs")) if path.exists())
    exports = re.findall(r"\buse (?:self::)?(\w+)::(\{[^}]*\}|\w+);", above.read_text())
    home = {name: module for module, names in exports for name in re.findall(r"\w+", names)}
    path_of = re.compile(rf"\b(?:super|crate::{folder.name})::(\{{[^}}]*\}}|\w+)")
    stems = {path.stem for path in files}
    uses = {}
    for path in files:
        code = re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]\nmod tests")[0])
        words = re.findall(r"\w+", " ".join(path_of.findall(code)))
        uses[path.stem] = ({home.get(word, word) for word in words} & stems) - {path.stem}
    return uses


def module_folders(crate: str) -> list[Path]:
    found = [path for path in Path("crates", crate, "src").rglob("*") if path.is_dir()]
    return [path for path in found if (path / "mod.rs").exists() or path.with_suffix(".rs").exists()]


# Each has a circle: two modules that define a type for each other.
WITH_CIRCLES = {"beliefs", "game", "guard", "kernel", "reach", "units"}


@pytest.mark.parametrize("crate", sorted(listed().keys() - WITH_CIRCLES))
def test_modules_have_no_circles(crate: str) -> None:
    assert in_a_circle(modules(crate)) == set()
    for folder in module_folders(crate):
        assert in_a_circle(inner_modules(folder)) == set(), folder


def test_circles_are_found() -> None:
    assert modules("sim")["engine"] > {"flow", "route", "schedule"}
    assert in_a_circle({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == {"a", "b"}
    assert inner_modules(Path("crates/sim/src/flow"))["send"] == {"send_window"}
