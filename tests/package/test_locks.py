"""Packages installed to build and test are pinned by version and hash."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["requirements.lock", "tools.lock", "cross.lock"])
def test_python_packages_have_versions_and_hashes(name: str) -> None:
    text = Path(name).read_text()
    assert "://" not in text
    entries = re.split(r"\n(?=\S)", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE).strip())
    for entry in entries:
        assert re.match(r"[a-z0-9-]+(\[[a-z,]+\])?==\d\S*( ; .*?)? \\\n +--hash=sha256:[0-9a-f]{64}\b", entry), entry
    assert "--require-hashes" in Path("Makefile").read_text()


def crates(lock: str) -> dict[tuple[str, str], str | None]:
    packages = tomllib.loads(Path(lock).read_text())["package"]
    return {(package["name"], package["version"]): package.get("checksum") for package in packages}


@pytest.mark.parametrize("lock", ["Cargo.lock", "fuzz/Cargo.lock"])
def test_crates_have_checksums(lock: str) -> None:
    without = {name for (name, _), checksum in crates(lock).items() if checksum is None}
    assert all(name.startswith("fairweir") for name in without)


def test_the_fuzzers_crates_are_those_of_the_workspace() -> None:
    workspace = crates("Cargo.lock")
    known = {name for name, _ in workspace}
    others = {(name, version) for name, version in crates("fuzz/Cargo.lock") if name in known} - workspace.keys()
    assert others == set()
