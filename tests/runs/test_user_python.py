"""A user's Python class that exits, prints, forks or exhausts memory affects only its own run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

TRICKS = {
    "Exits": "os._exit(7)",
    "Prints": "print('{} from the controller')",
    "PrintsHalfALine": "print('{} from the controller', end='')",
    "PrintsAndExits": "print('{} before the exit'); os._exit(7)",
    "Forks": "os.fork()",
    "Eats": "self.held = bytearray(1 << 60)",
    "Crashes": "__import__('ctypes').string_at(0)",
}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    source = "import os\n\nfrom fairweir import Cca\n"
    for name, trick in TRICKS.items():
        source += (
            f"\n\nclass {name}(Cca):\n    acks = 0\n\n    def on_ack(self, ack):\n        self.acks += 1\n"
            f"        if self.acks == 50:\n            {trick}\n"
        )
    (tmp_path / "tricks.py").write_text(source)
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "s"\nduration = "2s"\n[link.bottleneck]\nrate = "8Mbps"\nbuffer = "40KB"\n'
        '[[flow]]\nid = "f"\ncca = "tricks.py:Exits"\nrtprop = "10ms"\n'
    )
    return path


def fairweir(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fairweir", *map(str, words)]
    # Output to a pipe is buffered unless the environment says otherwise.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["Prints", "PrintsHalfALine", "Forks"])
def test_json_stays_json(scenario: Path, name: str) -> None:
    ended = fairweir("run", scenario, "--json", "--set", f"flow.0.cca=tricks.py:{name}")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["flows"][0]["cca"].endswith(name)
    assert ended.stderr.strip() == ("{} from the controller" if name.startswith("Prints") else "")


def test_what_a_controller_printed_before_a_crash_is_shown(scenario: Path) -> None:
    ended = fairweir("run", scenario, "--json", "--set", "flow.0.cca=tricks.py:PrintsAndExits")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "{} before the exit" in ended.stderr


@pytest.mark.parametrize("name", ["loud.py:Loud", "loud:Loud"])
def test_output_of_a_module_is_not_part_of_the_result(
    scenario: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loud = "print('{} from the module')\nfrom fairweir import Cca\n\n\nclass Loud(Cca):\n"
    (scenario.parent / "loud.py").write_text(f"{loud}    def on_ack(self, ack):\n        pass\n")
    monkeypatch.setenv("PYTHONPATH", str(scenario.parent))
    ended = fairweir("run", scenario, "--json", "--set", f"flow.0.cca={name}")
    assert json.loads(ended.stdout)["flows"][0]["id"] == "f"
    assert "{} from the module" in ended.stderr


def test_a_module_that_exits_is_an_error(scenario: Path) -> None:
    (scenario.parent / "leaves.py").write_text("import sys\n\nsys.exit(0)\n")
    ended = fairweir("run", scenario, "--json", "--set", "flow.0.cca=leaves.py:Leaves")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "`leaves.py` does not run: SystemExit: 0 (leaves.py, line 3" in ended.stderr


def test_a_module_that_runs_only_once_is_an_error(scenario: Path) -> None:
    """The check of the scenario loads it, then the process of its own in which it plays."""
    once = "import os\n\nif 'ONCE' in os.environ:\n    raise OSError('no more')\nos.environ['ONCE'] = '1'\n"
    (scenario.parent / "once.py").write_text(f"{once}from fairweir import Cca\n\n\nclass Once(Cca):\n    pass\n")
    ended = fairweir("run", scenario, "--json", "--set", "flow.0.cca=once.py:Once")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "`once.py` does not run: OSError: no more (once.py, line 4" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_hints_for_c_are_not_given_for_python(scenario: Path) -> None:
    ended = fairweir("run", scenario, "--set", "flow.0.cca=tricks.py:Crashes")
    assert "SIGSEGV" in ended.stderr
    assert "hint" not in ended.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [("Exits", "`tricks.py:Exits` crashed (exit code 7)"), ("Eats", "MemoryError (tricks.py, line")],
)
def test_an_end_of_its_process_is_an_error_that_names_it(scenario: Path, name: str, message: str) -> None:
    ended = fairweir("run", scenario, "--json", "--set", f"flow.0.cca=tricks.py:{name}")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "flow `f`" in ended.stderr
    assert message in ended.stderr


@pytest.mark.parametrize("last", ["Exits", "Forks"])
def test_nothing_outlives_a_sweep_whose_workers_die(scenario: Path, last: str) -> None:
    """A worker that replaces a dead worker while the pool closes must not keep the command's output open."""
    words = ["sweep", str(scenario), "--out", str(scenario.parent / "out"), "--workers", "1"]
    for seed in ("1", "2"):
        command = [*words, "--seed", seed, "--grid", f"flow.0.cca=reno,tricks.py:{last}"]
        process = subprocess.Popen(
            [sys.executable, "-m", "fairweir", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        # A pipe closes when the last process that has it open ends.
        process.communicate(timeout=60)
        while members(process.pid):
            time.sleep(0.05)


def test_a_sweep_keeps_the_runs_of_others(scenario: Path) -> None:
    grid = "flow.0.cca=tricks.py:Exits,tricks.py:Prints,tricks.py:Forks,reno"
    ended = fairweir("sweep", scenario, "--grid", grid, "--json", "--workers", "1", "--out", scenario.parent / "out")
    rows = json.loads(ended.stdout)["points"]
    assert [row["failure"] is None for row in rows] == [False, True, True, True], ended.stdout


def members(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_sweep_quietly(scenario: Path, signum: signal.Signals) -> None:
    words = [
        "sweep",
        str(scenario),
        "--out",
        str(scenario.parent / "out"),
        "--set",
        "duration=3000s",
        "--set",
        "flow.0.cca=cubic",
        "--grid",
        "seed=1..64",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "fairweir", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # The tests may run with SIGHUP ignored, as with nohup, and the command would inherit that.
        preexec_fn=lambda: signal.signal(signum, signal.SIG_DFL),  # noqa: PLW1509 - one system call
    )
    # Its workers are next to it in the group: then it runs.
    while len(members(process.pid)) < 4:
        time.sleep(0.05)
    # The signal is sent to the whole group, as by `timeout`.
    os.killpg(process.pid, signum)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signum, err
    assert "leaked" not in out + err
    assert "Traceback" not in out + err
    assert err.endswith("terminated\n")
