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
    """Return the crates in the order of ARCHITECTURE.md, and whether it calls each of them pure."""
    rows = re.findall(r"^crates/([a-z-]+) +(pure: )?", Path("ARCHITECTURE.md").read_text(), re.MULTILINE)
    return {name: bool(pure) for name, pure in rows}


def dependencies() -> dict[str, set[str]]:
    """Return each crate's dependencies except development dependencies; crates of this repository have short names."""
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
    """Return the dependencies on crates that are not above the dependent crate in `order`."""
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
    assert {name for name in arrows if "sim" in arrows[name]} == {"fuzz", "py", "testing"}
    assert {name for name in arrows if "native" in arrows[name]} == {"kernel", "emu", "fuzz", "py", "quic"}


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
