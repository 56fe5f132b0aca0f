"""The program: output streams and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairweir import __version__
from fairweir.cli.commands import COMMANDS
from fairweir.cli.main import BUG, main

SCENARIO = """
name = "two"
duration = "5s"
warmup = "1s"

[link.bottleneck]
rate = "12Mbps"

[[flow]]
cca = "reno"
rtprop = "10ms"
count = 2
"""


@dataclass
class Result:
    """Result of running the program."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Result]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the program in an empty folder with a scenario file, two.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "two.toml").write_text(SCENARIO)

    def call(*words: str) -> Result:
        code = main(words)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def test_version_and_help(call: Call) -> None:
    assert call("--version") == Result(0, f"fairweir {__version__}\n", "")
    shown = call("--help")
    assert shown.code == 0
    assert all(command in shown.out for command in COMMANDS)
    assert call().code == 2


@pytest.mark.parametrize("command", [*COMMANDS, "new cca", "new model"])
def test_every_command_has_help(call: Call, command: str) -> None:
    shown = call(*command.split(), "--help")
    assert (shown.code, shown.err) == (0, "")
    assert f"fairweir {command}" in shown.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bogus"], "error: no such command 'bogus'\n\nhint: fairweir --help\n"),
        (["run"], "error: missing argument 'SCENARIO'\n\nhint: fairweir run --help\n"),
        (
            ["run", "two.toml", "--bogus"],
            "error: no such option: --bogus (Possible options: --cost, --out, --qlog)\n\nhint: fairweir run --help\n",
        ),
        (
            ["run", "none/s.toml"],
            "error: scenario cannot be read: no such file or directory (none/s.toml)\n\n"
            "hint: `fairweir list scenarios` lists them\n",
        ),
        (
            ["run", "scenarios/three-rtprop.toml"],
            "error: scenario cannot be read: no such file or directory (scenarios/three-rtprop.toml)\n\n"
            "hint: did you mean the shipped `three-rtprops`?\n",
        ),
        (
            ["run", "too.toml"],
            "error: scenario cannot be read: no such file or directory (too.toml)\n\nhint: did you mean `two.toml`?\n",
        ),
        (
            ["run", "reno"],
            "error: scenario cannot be read: no such file or directory (reno)\n\n"
            "hint: a scenario is a TOML file; for a verdict on a controller: fairweir audit reno\n",
        ),
        (
            ["run", "two.toml", "--set", "flow.0.cca=ren0"],
            "error: no congestion controller `ren0` (two.toml: flow.0.cca)\n\nhint: did you mean `reno`?\n",
        ),
        (
            ["run", "two.toml", "--interval", "1", "--out", "out"],
            'error: time `1` has no unit\n\nhint: write a time with its unit: "40ms", "12us", "300s"\n',
        ),
        (
            ["sweep", "two.toml"],
            "error: nothing to sweep (two.toml)\n\n"
            "hint: write --grid link.bottleneck.rate=12Mbps,24Mbps, or add a table [sweep] to the scenario\n",
        ),
        (["list", "cca"], "error: nothing to list: `cca`\n\nhint: did you mean `ccas`?\n"),
        (
            ["new", "cca", "My-Cca"],
            "error: not a name for a controller: `My-Cca`\n\n"
            "hint: lower case, digits and underscores, such as `my_cca`; at most 32\n",
        ),
    ],
)
def test_bad_input_is_reported_on_stderr_with_exit_code_2(call: Call, words: list[str], message: str) -> None:
    assert call(*words) == Result(2, "", message)


def test_a_bug_is_not_a_verdict() -> None:
    fails = "def app(words): raise ValueError('unexpected')"
    code = f"import fairweir.cli.main as m\n{fails}\nm.app = app\nm.run_and_exit()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == BUG
    assert "ValueError: unexpected" in ended.stderr
    assert ended.stderr.endswith("error: a bug of fairweir; please report the lines above\n")


def test_run_prints_tables(call: Call) -> None:
    shown = call("run", "two.toml")
    assert (shown.code, shown.err) == (0, "")
    for word in ("reno-1", "reno-2", "Mbit/s", "bottleneck", "utilization", "two, seed 1", "Jain", "max/min"):
        assert word in shown.out


def test_a_run_without_files_does_not_wait_for_large_modules(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    code = "import sys\nfrom fairweir.cli.main import main\nassert main(['run', 'two.toml']) == 0\n"
    code += "print(sorted({'numpy', 'matplotlib', 'arro3', 'concurrent.futures'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_run_json_is_one_document_and_nothing_else(call: Call) -> None:
    shown = call("run", "two.toml", "--json", "--seed", "9", "--set", "flow.0.rtprop=20ms")
    assert (shown.code, shown.err) == (0, "")
    assert shown.document["seed"] == 9
    assert shown.document["scenario"]["flow"][0]["rtprop"] == "20ms"
    assert list(shown.document) == [
        "scenario",
        "world",
        "seed",
        "version",
        "flows",
        "links",
        "fairness",
        "packets",
        "events",
        "wall_s",
    ]


def test_run_keeps_and_draws(call: Call, tmp_path: Path) -> None:
    shown = call("run", "two.toml", "--out", "kept", "--plot", "two.png", "--plot", "two.svg", "--json")
    assert shown.code == 0
    assert shown.document["world"] == "sim"
    assert "stored in kept/" in shown.err
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "two.svg").read_text()
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "flows.parquet",
        "links.parquet",
        "scenario.toml",
        "summary.json",
    ]
    assert call("run", "kept/scenario.toml", "--json").document["flows"] == shown.document["flows"]
    assert call("run", "two.toml", "--plot", "two.gif").code == 2


def test_sweep_prints_stores_and_resumes(call: Call, tmp_path: Path) -> None:
    words = ["sweep", "two.toml", "--grid", "link.bottleneck.rate=6Mbps,12Mbps", "--grid", "seed=1..2"]
    shown = call(*words)
    assert (shown.code, shown.err) == (0, "")
    assert "4 points, 0 of them reused; results/sweep/two/flows.parquet" in shown.out
    again = call(*words, "--json")
    assert again.document["reused"] == 4
    assert [point["settings"]["seed"] for point in again.document["points"]] == [1, 2, 1, 2]
    assert (tmp_path / "results" / "sweep" / "two" / "flows.parquet").is_file()


def test_a_failed_point_is_exit_code_2(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import fairweir\nclass Mine(fairweir.Cca):\n    pass\n")
    shown = call("sweep", "two.toml", "--grid", "flow.0.cca=reno,mine.py:Mine", "--json")
    assert shown.code == 2
    assert "failed: flow `Mine-1` at " in shown.err
    assert [point["failure"] is None for point in shown.document["points"]] == [True, False]


def test_list_json(call: Call) -> None:
    document = call("list", "--json").document
    assert {"reno", "cubic", "bbr"} <= {row["name"] for row in document["ccas"]}
    assert document["exhibits"]
    assert all(row.keys() >= {"name", "summary"} for rows in document.values() for row in rows)
    assert "beta" in call("list", "ccas").out
    assert list(call("list", "models", "policies", "--json").document) == ["models", "policies"]
    assert call("list", "models", "nothing").code == 2
    (beta,) = (row for row in call("list", "cubic", "--json").document["cubic"] if row["name"] == "beta")
    assert beta["default"] == 0.7
    assert "default 0.7" in call("list", "cubic").out


@pytest.mark.parametrize("words", [["list"], ["doctor"]])
def test_no_markup_is_shown_as_text(call: Call, words: list[str]) -> None:
    # The brackets of an extra, such as fairweir[video], must not be interpreted as markup.
    assert not re.search(r"(?<!fairweir)\[/?[a-z]+\]", call(*words).out)


@pytest.mark.parametrize("options", [[], ["--c"]])
def test_a_new_cca_runs_at_once(call: Call, options: list[str]) -> None:
    document = call("new", "cca", "my_cca", *options, "--json").document
    assert len(document["files"]) == 2
    assert document["commands"][0] == "fairweir run my_cca.toml"
    shown = call(*document["commands"][0].split()[1:], "--json")
    assert shown.code == 0, shown.err
    assert shown.document["links"][0]["utilization"] > 0.95
    assert shown.document["flows"][0]["qdelay_ms"]["mean"] < 10
    assert shown.document["fairness"]["max_min_ratio"] < 3
    again = call("new", "cca", "my_cca", *options)
    assert again.code == 2
    assert "already" in again.err


def test_doctor_finds_the_simulator_well(call: Call) -> None:
    shown = call("doctor", "--json")
    assert shown.code == 0
    checks = {check["name"]: check for check in shown.document}
    assert checks["simulator"]["status"] == "ok"
    assert call("doctor").code == 0


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    # Five hundred flows' summaries are more than a pipe holds, so the writer is still writing when the reader leaves.
    words = (
        f"{sys.executable} -m fairweir run two.toml --json --set flow.0.count=500 | head -c 1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "{141"
    assert "Traceback" not in done.stderr


ENDLESS = SCENARIO.replace('"5s"', '"500h"').replace("12Mbps", "10Gbps")
LOOPS = "import fairweir\nclass L(fairweir.Cca):\n    def on_ack(self, ack):\n        while True: pass\n"


@pytest.mark.parametrize("settings", [[], ["--set", "flow.0.cca=loops.py:L"]], ids=["built-in", "python"])
def test_ctrl_c_ends_a_run(tmp_path: Path, settings: list[str]) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    (tmp_path / "loops.py").write_text(LOOPS)
    words = [sys.executable, "-m", "fairweir", "run", "endless.toml", *settings]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _wait_until_it_computes(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    # On a loaded machine the run takes long enough for a line of progress.
    assert (process.returncode, out, err.splitlines()[-1]) == (130, "", "interrupted")


def _wait_until_it_computes(pid: int) -> None:
    """Wait until the process or one of its children has used 2 s of CPU time; startup takes less than 1 s."""
    while max(map(_cpu_s, [pid, *_children(pid)])) < 2:
        time.sleep(0.05)


def _children(pid: int) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [child for child in pids if (fields := _stat(child)) and int(fields[1]) == pid]


def _stat(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _cpu_s(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("place", ["file", "file/sub", "dangling", "taken", "full"])
def test_a_place_that_cannot_be_written_is_one_error(place: str, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "file").write_text("kept")
    (tmp_path / "dangling").symlink_to(tmp_path / "missing" / "target")
    (tmp_path / "taken" / "flows.parquet").mkdir(parents=True)
    words = [sys.executable, "-m", "fairweir", "sweep", "two.toml", "--out", place, "--grid", "seed=1,2"]
    limit = "1000" if place == "full" else "unlimited"  # bytes of a file: as on a full disk
    done = subprocess.run(
        ["bash", "-c", f"trap '' XFSZ; exec prlimit --fsize={limit} \"$@\"", "bash", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "", "hint"], done.stderr
    assert place in lines[0]
    assert (tmp_path / "file").read_text() == "kept"
    assert not (tmp_path / "missing").exists()
    assert not list(tmp_path.rglob("*.part"))


def test_ctrl_c_in_a_sweep_keeps_finished_points(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    words = ["sweep", "two.toml", "--out", "s", "--workers", "1", "--grid", "duration=5s,500h"]
    command = [sys.executable, "-m", "fairweir", *words, "--set", "link.bottleneck.rate=1Gbps"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "s" / "points").glob("*.json") if (tmp_path / "s" / "points").exists() else []):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == "finished points are stored in s/; run the same command to resume\ninterrupted\n"
    assert (tmp_path / "s" / "flows.parquet").is_file()
