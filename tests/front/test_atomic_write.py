"""Files are written completely or not at all, and symbolic links are never followed."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.starving import PAIR
from tests.summaries import filled

import fairweir
from fairweir.agree.compare import compare
from fairweir.agree.matrix import Agreement
from fairweir.agree.measured import Measured
from fairweir.cli import agree as agree_command
from fairweir.cli.main import main
from fairweir.documents import atomic_write
from fairweir.errors import ConfigError
from fairweir.guard import forest
from fairweir.guard.examples import Library
from fairweir.play.batch import Archive
from fairweir.scenario.dumbbell import dumbbell
from fairweir.starvation import certificate as certificate_file
from fairweir.starvation.certify import certify
from fairweir.starvation.question import Question
from fairweir.starvation.result import Starvation
from fairweir.synth.archive import FINDINGS
from fairweir.units import Duration
from fairweir.video.evaluate import SESSIONS, Kept
from fairweir.video.play import Session

PACKAGE = Path(fairweir.__file__).parent
#: Module that writes files in another way -> reason why this is safe.
EXCEPTIONS = {
    "documents/atomic_write.py": "the writer",
    "show/plots.py": "into a draft",
    "formal/solving/solve.py": "in a new temporary folder",
    "formal/solving/solvers.py": "in a new temporary folder",
    "guard/evaluate.py": "in a new temporary folder",
    "guard/compare.py": "a temporary file with a name of tempfile's choice",
    "play/run.py": "in a new temporary folder, which takes the record's name",
}


def command(*words: str) -> None:
    assert main(list(words)) in {0, 1}


def agreement(out: Path) -> None:
    summary: dict[str, Any] = {
        "flows": [{"id": "flow-0", "throughput_mbps": 6.0, "rtt_ms": {"mean": 40.0}}],
        "emulator": {"judged": True, "reason": "", "release_error_us": {"p99": 80.0}},
    }
    cells = [compare("reno", "one", [Measured.of(filled(summary))], [Measured.of(filled(summary))])]
    terms: dict[str, Any] = {"kernel": "6.1", "seeds": [1], "kernel_runs": 1, "host_stall": ""}
    agree_command.keep(Agreement(scenarios=["one"], ccas=["reno"], cells=cells, **terms), out)


def captured(out: Path) -> None:
    command(
        *("run", "three-rtprops", "--set", "duration=11s", "--set", "warmup=1s"),
        *("--pcap", str(out / "a.pcap"), "--plot", str(out / "a.svg"), "--plot", str(out / "a.png")),
    )


def explained(out: Path) -> None:
    out.mkdir(exist_ok=True)
    pcap = out.parent / "capture.pcap"
    if not pcap.exists():
        command("run", "three-rtprops", "--set", "duration=11s", "--set", "warmup=1s", "--pcap", str(pcap))
    command("explain", str(pcap), "--report", str(out / "page.html"), "--plot", str(out / "flows"))


def starved(out: Path) -> None:
    table = dumbbell(["vegas"], duration="30s").to_dict()
    terms: dict[str, Any] = {"asked_ratio": 10.0, "jitter_ms": 20.0, "rtprop_ms": 100.0}
    Starvation(cca="vegas", word="not-shown", why="", points=[], scenarios={"vegas": table}, **terms).save(out)
    # Shared between the two writings: it takes a second.
    certificate_file.write(certificate(), out / "vegas.parquet")


@cache
def certificate() -> certificate_file.Certificate:
    return certify(Question("vegas", jitter=Duration.from_ms(20)), PAIR, lambda *_: None)


#: Functions that write files: all files in a user's folder, by the parts that write them.
WRITERS: dict[str, Callable[[Path], object]] = {
    "run": lambda out: command("run", "policer", "--set", "duration=22s", "--out", str(out / "record")),
    "run's figures and captures": captured,
    "sweep": lambda out: command("sweep", "policer", "--grid", "seed=1..2", "--set", "duration=22s", "--out", str(out)),
    "audit": lambda out: command(
        "audit", "reno", "--quick", "--only", "finite-flows", "--seeds", "2", "--out", str(out)
    ),
    "explain": explained,
    "agree": agreement,
    "reproduce": lambda out: command(
        *("reproduce", "thesis-7.4", "--quick", "--out", str(out), "--page", str(out / "page.md")),
        *("--plot", str(out / "figures")),
    ),
    "contract design": lambda out: command(
        *("contract", "design", "noise=1ms", "slowest=1Mbps", "fastest=100Mbps", "error=1.5"),
        *("--scenario", str(out / "designed.toml")),
    ),
    "starve": starved,
    "verify": lambda out: command("verify", "aimd", "--points", "3", "--property", "queue<=0.1", "--out", str(out)),
    "synth": lambda out: command("synth", "g1-5", "--set", "points=3", "--out", str(out)),
    "new": lambda out: command("new", "cca", "mine", "--dir", str(out)),
    "runs of an archive": lambda out: Archive(out).put(_Task(), filled({"a": 1})),  # type: ignore[arg-type]
    "a forest": lambda out: forest.write({}, out / "forest.json"),
    "training examples": lambda out: Library(out).put("one", np.zeros((2, 2)), np.ones(2)),
}


#: Commands that refuse, or read first, what has a file's name.
REFUSING = {"new", "synth"}
#: Folders that :meth:`fairweir.play.run.Run.save` writes.
RECORDS = {"record", "run"}


class _Task:
    key = "0" * 20


def _writes(call: ast.Call) -> bool:
    """Return whether a method call opens a file for writing, or writes a file given by name."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "open":
        modes = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        return any(len(mode) < 4 and set(mode) & set("wax+") for mode in modes)
    return call.func.attr in {"write_text", "write_bytes", "savefig", "write_html", "mkstemp", "NamedTemporaryFile"}


def test_all_files_are_written_by_the_one_writer() -> None:
    """Other modules that open, save or name temporary files are listed here, with the reason."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        if any(map(_writes, calls)):
            found.add(str(path.relative_to(PACKAGE)))
    assert found == EXCEPTIONS.keys()


@pytest.mark.parametrize("name", WRITERS)
def test_planted_links_are_not_followed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clean, prepared, victims = tmp_path / "clean", tmp_path / "prepared", tmp_path / "victims"
    for folder in (clean, prepared, victims):
        folder.mkdir()
    WRITERS[name](clean)
    files = [path.relative_to(clean) for path in clean.rglob("*") if path.is_file()]
    assert files
    for number, file in enumerate(files):
        folder = (prepared / file).parent
        folder.mkdir(parents=True, exist_ok=True)
        victim = victims / str(number)
        victim.write_text("not yours")
        stem, whole = file.stem, file.name
        drafts = [f"{whole}.partial", f".{whole}.partial", f"{stem}.partial", f".{stem}.partial", f"{whole}.part"]
        # A record replaces its folder, which must hold nothing else.
        planted = [*([] if name in REFUSING else [whole]), *([] if folder.name in RECORDS else drafts)]
        for word in planted:
            if not (folder / word).is_symlink():
                (folder / word).symlink_to(victim if word == whole else victims / f"made-{number}")
    WRITERS[name](prepared)
    assert {path.read_text() for path in victims.iterdir()} == {"not yours"}
    assert len(list(victims.iterdir())) == len(files)
    for file in files:
        assert (prepared / file).is_file()
        assert not (prepared / file).is_symlink(), file
    assert not list(prepared.rglob(".*.part"))


def test_a_record_replaces_a_link_and_no_directory_of_other_things(tmp_path: Path) -> None:
    words = ["run", "policer", "--set", "duration=22s", "--out"]
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.mkdir()
    (theirs / "summary.json").write_text("not yours")
    link.symlink_to(theirs)
    assert main([*words, str(link)]) == 0
    assert not link.is_symlink()
    assert (theirs / "summary.json").read_text() == "not yours"
    assert main([*words, str(link)]) == 0
    (link / "notes.txt").write_text("mine")
    for place in (link, tmp_path, link / "notes.txt"):
        assert main([*words, str(place)]) == 2
    assert (link / "notes.txt").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"theirs", "link"}


def test_an_audit_removes_no_files_behind_a_link(tmp_path: Path) -> None:
    theirs, out = tmp_path / "theirs", tmp_path / "out"
    theirs.mkdir()
    out.mkdir()
    (theirs / "mine.toml").write_text("mine")
    (out / "failing").symlink_to(theirs)
    WRITERS["audit"](out)
    assert [path.name for path in theirs.iterdir()] == ["mine.toml"]


def test_records_that_grow_are_not_written_through_links(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("")
    for name in (SESSIONS, FINDINGS):
        (tmp_path / name).symlink_to(victim)
        with pytest.raises(ConfigError, match="not a regular file"):
            atomic_write.append_line(tmp_path / name, "line")
    assert Kept(tmp_path).path.name == SESSIONS
    assert victim.read_text() == ""
    atomic_write.append_line(tmp_path / "grows", "one")
    atomic_write.append_line(tmp_path / "grows", "two")
    assert (tmp_path / "grows").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("cut", [b'{"key"', b"\xff\xc3", b'{"key": "a"}'])
def test_a_line_that_a_crash_cut_short_costs_no_other(cut: bytes, tmp_path: Path) -> None:
    session = Session("fixed", "gcc", "vp8", 1, {"fps": 30.0}, {})
    Kept(tmp_path).add("first", session)
    with (tmp_path / SESSIONS).open("ab") as file:
        file.write(cut)
    kept = Kept(tmp_path)
    assert kept.get("first") == session
    for key in ("second", "third"):
        kept.add(key, session)
    again = Kept(tmp_path)
    assert [again.get(key) for key in ("first", "second", "third")] == [session] * 3
    assert len((tmp_path / SESSIONS).read_bytes().splitlines()) == 4


@pytest.mark.parametrize("is_link", [False, True])
def test_pipes_and_devices_are_rejected_and_stay(is_link: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = tmp_path / "link" if is_link else pipe
    if is_link:
        path.symlink_to(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        atomic_write.write_text(path, "text")
    with pytest.raises(ConfigError, match="not a regular file"):
        atomic_write.append_line(path, "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert path.is_symlink() is is_link


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = atomic_write.write_text(tmp_path / "new" / "file", "old")
    with suppress(ZeroDivisionError), atomic_write.draft(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert [one.name for one in path.parent.iterdir()] == ["file"]
    (path.parent / "plain").write_text("")
    assert path.stat().st_mode == (path.parent / "plain").stat().st_mode
