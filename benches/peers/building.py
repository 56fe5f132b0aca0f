"""Build both programs, and name what they were built from."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
REPOSITORY: Final = "https://github.com/Broadcom/csg-htsim"
#: The commit of htsim to which the numbers in README.md belong.
COMMIT: Final = "841d9e7be46bb968eece766aa4b6c044c7799f67"
#: Where htsim's source is expected if nothing else is said.
HTSIM: Final = Path("target/peers/csg-htsim")
#: The fastest of GCC 12's flags; htsim's own Makefile has -O3 alone. Assertions are off, as in our release profile.
FLAGS: Final = ("-std=c++17", "-O3", "-march=native", "-flto", "-DNDEBUG", "-w")
DRIVER: Final = Path(__file__).with_name("htsim.cpp")
OURS: Final = ("cargo", "build", "--release", "--locked", "-p", "fairweir-sim", "--example", "throughput")
#: Variables that replace parts of the release profile.
OVERRIDES: Final = re.compile(r"CARGO_(PROFILE_RELEASE|TARGET_.*_RUSTFLAGS)|(CARGO_(BUILD|ENCODED)_)?RUSTFLAGS")
#: The files of htsim's library, in its Makefile.
OBJECTS: Final = re.compile(r"^OBJS *=(.*)$", re.MULTILINE)


class MissingError(Exception):
    """Something that the comparison needs is absent; the hint says how to get it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"error: {message}\n\nhint: {hint}")


def require(folder: Path, programs: Iterable[str]) -> None:
    """Raise an exception if htsim's source or a program is absent."""
    if not (folder / "sim" / "Makefile").is_file():
        raise MissingError(
            f"no source of htsim in {folder}",
            f"git clone {REPOSITORY} {folder} && git -C {folder} checkout {COMMIT}; "
            "or name a checkout elsewhere: make bench-peers HTSIM=DIR",
        )
    if absent := [name for name in programs if shutil.which(name) is None]:
        raise MissingError(f"not installed: {', '.join(absent)}", "both programs are built, and run under taskset")


def build_ours() -> Path:
    """Build our program with the release profile as it is shipped, and return its path."""
    words = [*OURS, "--message-format", "json-render-diagnostics"]
    environment = shipped_profile(os.environ)
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return executable(done.stdout)


def shipped_profile(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nothing replaces the profile of Cargo.toml."""
    return {name: value for name, value in environment.items() if not OVERRIDES.match(name)}


def executable(messages: str) -> Path:
    """Return the program that cargo's messages name."""
    found = [json.loads(line).get("executable") for line in messages.splitlines() if line.startswith("{")]
    return Path(next(filter(None, reversed(found))))


def build_htsim(source: Path, target: Path) -> Path:
    """Build htsim with our driver in `target`, unless the program there is newer than its sources."""
    library, program = source / "sim", target / "htsim"
    files = [DRIVER, *(library / f"{name}.cpp" for name in library_files((library / "Makefile").read_text()))]
    inputs = [Path(__file__), *files, *library.glob("*.h")]
    if program.is_file() and program.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return program
    target.mkdir(parents=True, exist_ok=True)
    words = [compiler(), *FLAGS, f"-I{library}", *map(str, files), "-o", str(program)]
    subprocess.run(words, check=True)
    return program


def library_files(makefile: str) -> list[str]:
    """Return the names, without suffix, of the files of which htsim's Makefile makes its library."""
    found = OBJECTS.search(makefile)
    return [] if found is None else [name.removesuffix(".o") for name in found[1].split()]


def compiler() -> str:
    """Return the command of the C++ compiler."""
    return os.environ.get("CXX", "g++")


def commit_of(folder: Path) -> str:
    """Return the commit of a checkout, with ``-dirty`` if files differ, or ``unknown``."""
    if answer(["git", "-C", str(folder), "rev-parse", "--show-toplevel"]) != str(folder.resolve()):
        # A copy without history inside another checkout would get the outer checkout's commit.
        return "unknown"
    return answer(["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"])


def answer(words: Sequence[str]) -> str:
    """Return the first line that a program prints, or ``unknown``."""
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"
