"""The comparison of speed with htsim (``make bench-peers``) on recorded output; no test measures time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from benches.peers import __main__ as program
from benches.peers.building import (
    COMMIT,
    DRIVER,
    REPOSITORY,
    ROOT,
    build_htsim,
    commit_of,
    executable,
    library_files,
    shipped_profile,
)
from benches.peers.pairing import WORKLOADS, Comparison, Run, Spread, compare, parse, table
from hypothesis import given
from hypothesis import strategies as st

OURS = "w1-min reno flows=8: 4994918 packets, 5011387 events, 0.188 s, 26.62 Mpkt/s, 37.6 ns/pkt, utilization 0.9992\n"
PEER = "w1-min reno flows=8: 4994974 packets, 15046231 events, 0.814 s, 6.13 Mpkt/s, 163.0 ns/pkt, utilization 0.9991\n"


def comparison(*pairs: tuple[float, float]) -> Comparison:
    """Return pairs of speeds of equal work."""
    return Comparison(WORKLOADS[0], tuple((Run(1000, ours, 1.0), Run(1000, peer, 1.0)) for ours, peer in pairs))


def test_a_missing_source_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "csg-htsim"
    assert program.main(["--htsim", str(folder)]) == program.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("error:") == 1
    assert f"git clone {REPOSITORY} {folder} && git -C {folder} checkout {COMMIT}" in err


def test_a_missing_program_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source(tmp_path)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert program.main(["--htsim", str(tmp_path)]) == program.BAD_INPUT
    assert capsys.readouterr().err.startswith("error: not installed: no-such-compiler\n")


def test_output_of_both_programs_is_read() -> None:
    assert parse(OURS) == Run(4994918, 26.62, 0.9992)
    assert parse(f"a warning\n{PEER}") == Run(4994974, 6.13, 0.9991)
    with pytest.raises(ValueError, match="not a result"):
        parse("usage: throughput ...")


@given(st.text())
def test_other_output_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a result"):
        parse(text)


def test_programs_take_turns() -> None:
    order: list[str] = []

    def runner(name: str, mpps: float) -> Run:
        order.append(name)
        return Run(10, mpps, 1.0)

    found = compare(WORKLOADS[0], 3, lambda: runner("ours", 20.0), lambda: runner("peer", 5.0))
    assert order == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert found.pairs == ((Run(10, 20.0, 1.0), Run(10, 5.0, 1.0)),) * 3


def test_ratios_are_those_of_pairs() -> None:
    """A slow moment of the machine, in the last pair, widens the speeds and not the ratios."""
    found = comparison((20.0, 5.0), (22.0, 5.0), (10.0, 2.5))
    assert found.ours == Spread(20.0, 10.0, 22.0)
    assert found.peer == Spread(5.0, 2.5, 5.0)
    assert found.ratio == Spread(4.0, 4.0, 4.4)
    assert Spread.of([3, 1, 2, 10]) == Spread(2.5, 1, 10)
    row = table([found]).splitlines()[2]
    assert row.endswith("| 20.0 (10.0 to 22.0) | 5.00 (2.50 to 5.00) | 4.0 (4.0 to 4.4) |")


def test_different_work_is_seen() -> None:
    def doubts(ours: Run, peer: Run) -> list[str]:
        return Comparison(WORKLOADS[3], ((ours, peer),)).doubts()

    assert doubts(Run(1000, 8.0, 0.99), Run(1020, 1.5, 0.97)) == []
    assert doubts(Run(1000, 8.0, 0.99), Run(900, 1.5, 0.98)) == [
        "W3: not the same work, packet counts differ by 11.1 %"
    ]
    assert doubts(Run(1000, 8.0, 0.99), Run(1000, 1.5, 0.81)) == ["W3: not the same work, a utilization is 0.81"]


def test_a_report_has_table_conditions_and_doubts() -> None:
    found = [comparison((20.0, 5.0), (22.0, 5.0))]
    facts = program.conditions(ROOT, 2, 0, "0.10")
    text = program.report(found, facts, is_json=False)
    assert text.startswith("| workload |")
    assert f"fairweir: {commit_of(ROOT)}, release profile" in text
    assert "2 pairs on CPU 0; load average 0.10 before" in text
    document = json.loads(program.report(found, facts, is_json=True))
    assert document["date"] == facts["date"]
    assert document["workloads"][0]["ratio"] == {"median": 4.2, "minimum": 4.0, "maximum": 4.4}
    assert document["workloads"][0]["pairs"][1][0] == {"packets": 1000, "mpps": 22.0, "utilization": 1.0}


def test_both_programs_know_the_workloads() -> None:
    ours = (ROOT / "crates/sim/examples/throughput.rs").read_text(encoding="utf-8")
    peer = DRIVER.read_text(encoding="utf-8")
    for workload in WORKLOADS:
        name, cca, *_ = workload.words
        assert f'"{name}"' in ours
        assert f'{{"{name}", {{' in peer
        assert f'words[1] != "{cca}"' in peer


def test_the_release_profile_is_the_shipped_one() -> None:
    replaced = ["CARGO_PROFILE_RELEASE_LTO", "RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"]
    kept = {"PATH": "/bin", "CARGO_TARGET_DIR": "/tmp/target", "CARGO_PROFILE_DEV_DEBUG": "0"}
    assert shipped_profile(dict.fromkeys(replaced, "off") | kept) == kept


def test_cargo_names_the_program() -> None:
    messages = [{"reason": "compiler-artifact", "executable": None}, {"executable": "/a/throughput"}, {"success": True}]
    assert executable("\n".join(map(json.dumps, messages))) == Path("/a/throughput")


def source(folder: Path) -> Path:
    """Write what looks like htsim's source."""
    library = folder / "sim"
    library.mkdir()
    (library / "Makefile").write_text("SUBDIRS=tests\nOBJS=pipe.o tcp.o\r\nHDRS=pipe.h tcp.h\n", encoding="utf-8")
    for name in ("pipe.cpp", "tcp.cpp", "tcp.h"):
        (library / name).touch()
    return folder


def test_htsim_is_built_when_its_sources_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that stands for the compiler notes its arguments in its output."""
    htsim, target = source(tmp_path), tmp_path / "built"
    assert library_files((htsim / "sim" / "Makefile").read_text(encoding="utf-8")) == ["pipe", "tcp"]
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" >"$last"\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    built = build_htsim(htsim, target)
    words = built.read_text(encoding="utf-8").split()
    assert {str(DRIVER), str(htsim / "sim" / "pipe.cpp"), str(htsim / "sim" / "tcp.cpp"), "-flto"} < set(words)
    built.write_text("kept", encoding="utf-8")
    assert build_htsim(htsim, target).read_text(encoding="utf-8") == "kept"
    later = built.stat().st_mtime + 1
    os.utime(htsim / "sim" / "tcp.h", (later, later))
    assert build_htsim(htsim, target).read_text(encoding="utf-8") != "kept"


def test_a_copy_without_history_has_no_commit(tmp_path: Path) -> None:
    """Git would answer with the commit of the checkout around it."""
    assert commit_of(tmp_path) == "unknown"
    assert commit_of(DRIVER.parent) == "unknown"
    assert commit_of(ROOT) != "unknown"
    assert len(commit_of(ROOT).removesuffix("-dirty")) == 12
