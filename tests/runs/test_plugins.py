"""A plug-in of each language is written, built, run and repeatable; one that crashes or loops ends one run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fairweir.ccas import new_plugin
from fairweir.ccas.new_plugin import Language, write_plugin
from fairweir.cli.main import main
from fairweir.errors import CcaError, ConfigError, ControllerError
from fairweir.play import sandbox
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

#: A line of the skeleton in C, on the path of every ACK.
WELL = "flow->acked += ack->acked;"

Build = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def build(language: Language = Language.C, replace: tuple[str, str] = ("", "")) -> Path:
        skeleton = write_plugin("mine", tmp_path, language)
        source = skeleton.files[0]
        assert replace[0] in source.read_text()
        source.write_text(source.read_text().replace(*replace))
        folder = tmp_path / "mine"
        made = subprocess.run(["make", "-s", "-C", folder], check=False, capture_output=True, text=True, timeout=280)
        assert made.returncode == 0, made.stderr
        return folder / "mine.so"

    return build


def alone(cca: str | Path, count: int = 1) -> Scenario:
    return dumbbell([str(cca)] * count, rate="12Mbps", rtprop="20ms", duration="5s")


@pytest.mark.parametrize("language", [Language.C, Language.CPP, Language.GO])
def test_a_skeleton_builds_and_behaves_as_reno_does(build: Build, language: Language) -> None:
    behaves_as_reno_does(build(language))


def test_the_skeleton_in_rust_does_too_and_its_panic_is_an_error_with_its_message(build: Build) -> None:
    library = build(Language.RUST)
    behaves_as_reno_does(library)
    source = library.with_name("src") / "lib.rs"
    well = "let is_slow_start ="
    source.write_text(source.read_text().replace(well, f'assert!(self.cwnd < 30_000.0, "too wide");\n{well}'))
    subprocess.run(["make", "-s", "-C", library.parent], check=True, capture_output=True, timeout=280)
    with pytest.raises(ControllerError, match="panics: too wide"):
        run(alone(library))


def behaves_as_reno_does(library: Path) -> None:
    found = run(alone(library)).summary.document
    assert found["flows"] == run(alone(library)).summary.document["flows"]
    reno = run(alone("reno")).summary.document
    (flow,), (known,) = found["flows"], reno["flows"]
    assert flow["id"] == "mine-1"
    assert flow["throughput_mbps"] == pytest.approx(known["throughput_mbps"], rel=0.03)
    assert 0 < flow["lost_pkts"] < 4 * known["lost_pkts"]
    gentle = run(alone(f"{library}{{beta=0.8}}")).summary.document["flows"][0]
    assert gentle["qdelay_ms"]["mean"] > flow["qdelay_ms"]["mean"]


def test_the_commands_of_new_run_as_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "plugin", "my_cc", "--dir", str(tmp_path), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [Path(file).name for file in made["files"]] == ["my_cc.c", "Makefile", "my_cc.toml", "fairweir_cc.h"]
    make, runs, audits = (command.split() for command in made["commands"])
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    assert main([*runs[1:], "--set", "duration=3s", "--set", "warmup=1s"]) == 0
    assert "my_cc" in capsys.readouterr().out
    assert audits[:2] == ["fairweir", "audit"]
    assert Path(audits[2]).is_file()
    assert main(["new", "plugin", "my_cc", "--dir", str(tmp_path)]) == 2
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("__builtin_trap();", "SIGILL"),
        ("*(volatile int *)8 = 1;", "SIGSEGV: invalid memory access"),
        ("abort();", "SIGABRT"),
        ("exit(3);", "exit"),
        ("free(flow); free(flow);", "SIGABRT"),
    ],
)
def test_a_crash_is_one_error_that_names_the_plugin(build: Build, line: str, what: str) -> None:
    library = build(replace=(WELL, line))
    with pytest.raises(ControllerError) as caught:
        run(alone(library))
    assert str(caught.value).startswith("flow `mine-1` at ")
    assert f"`{library}` crashed (" in str(caught.value)
    assert what in str(caught.value)


def test_an_endless_loop_is_an_error(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TIMEOUT_S", 3)
    with pytest.raises(ControllerError, match=r"does not return \(for 3 s\)"):
        run(alone(build(replace=(WELL, 'for (;;) __asm__ volatile("");'))))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WELL, "static uint64_t shared; shared += 1; flow->acked += ack->acked * (1 + shared % 3);"),
        (
            "#include <stdlib.h>",
            "#include <stdlib.h>\n#include <time.h>\n#define calloc(n, z) (srand((unsigned)clock()), calloc(n, z))",
        ),
    ],
)
def test_an_audit_rejects_a_plugin_that_is_not_repeatable(
    build: Build, old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = ("flow->cwnd += ack->acked;", "flow->cwnd += ack->acked * (1 + (uint64_t)rand() % 3);")
    library = build(replace=(old, new))
    source = library.with_suffix(".c")
    source.write_text(source.read_text().replace(*chance))
    subprocess.run(["make", "-s", "-C", library.parent], check=True, timeout=60)
    assert main(["audit", str(library), "--quick"]) == 2
    assert "is not repeatable: two runs of the same scenario differ" in capsys.readouterr().err


def test_a_file_that_is_no_plugin_is_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "mine.so"
    damaged.write_bytes(b"\x7fELF" + bytes(100))
    scenario = tmp_path / "s.toml"
    scenario.write_text(alone(damaged).to_toml())
    assert main(["run", str(scenario)]) == 2
    reported = capsys.readouterr().err
    assert f"`{damaged}`: not a shared library" in reported
    assert reported.count("error:") == reported.count("hint:") == 1
    with pytest.raises(CcaError, match="no such file"):
        run(alone(tmp_path / "nowhere.so"))
    with pytest.raises(CcaError, match="not a congestion controller"):
        run(alone(f"{damaged}:Mine"))


def test_rust_without_sources_is_an_error_that_names_a_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_plugin, "_CRATE", tmp_path / "site-packages" / "crates" / "plugin")
    with pytest.raises(ConfigError, match="needs fairweir's sources"):
        write_plugin("mine", tmp_path, Language.RUST)
    assert not (tmp_path / "mine").exists()


def test_go_is_there() -> None:
    assert shutil.which("go"), "the plug-in in Go is not tested without a Go compiler: install golang-go"
