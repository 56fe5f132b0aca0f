"""The GitHub action and the sample project: each ``run:`` step of the action is executed as a runner would, and the
sample's tests fail with a message whose scenario repeats the run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.package.action_runner import ROOT, Runner, action

from fairweir.play.run import run
from fairweir.scenario.model import Scenario

SAMPLE = ROOT / "examples" / "stack-ci"
HEARTBEAT = ROOT / "packaging" / "action" / "heartbeat"
#: Cargo compiles the sample, and the crates of this clone for it, with a processor that others may use, too.
pytestmark = pytest.mark.timeout(900)
#: The audits of these tests: one family, a second or two.
ARGS = "--quick --only policer\n--workers 2"


def workflow() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((SAMPLE / ".github/workflows/fairweir.yml").read_text(encoding="utf-8"))
    return document


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    (tmp_path / "runner").mkdir()
    (tmp_path / "workspace").mkdir()
    return Runner(tmp_path / "runner", tmp_path / "workspace")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the sample project, with the crates of this clone, and build its plug-in and its tests."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    folder = tmp_path_factory.mktemp("clone") / "mystack"
    # With new times of modification: cargo must not take what an earlier copy in a folder of this name was built from.
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("target", "results"), copy_function=shutil.copy)
    shutil.copy(ROOT / "Cargo.lock", folder)
    manifest = folder / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("../../crates", str(ROOT / "crates")))
    # Dependencies that are compiled already, with the same profile, are used.
    (folder / "target").symlink_to(ROOT / "target", target_is_directory=True)
    built = cargo(folder, "build")
    assert built.returncode == 0, built.stderr
    return folder


def cargo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["cargo", words[0], "--quiet", "--offline", *words[1:]]
    # Optimized as this clone's tests are: users' runs are longer, and their builds are not repeated.
    env = {**os.environ, "CARGO_PROFILE_DEV_OPT_LEVEL": "1"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=850, check=False)


def test_the_sample_passes_its_own_tests(sample: Path) -> None:
    done = cargo(sample, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_a_failing_assertion_prints_a_scenario_that_repeats_the_run(sample: Path) -> None:
    test = sample / "tests" / "congestion.rs"
    text = test.read_text(encoding="utf-8")
    test.write_text(text.replace('"cubic")).assert(&SHARE, 0.3..0.7)', '"cubic")).assert(&SHARE, 0.6..)'))
    done = cargo(sample, "test", "--test", "congestion")
    test.write_text(text, encoding="utf-8")
    assert done.returncode != 0
    found = re.search(
        r"share of mycc-1 with cubic-2 must be at least 0.6: `0\.(\d+) \[.*?\]`, mean and 95 % ", done.stdout
    )
    assert found, done.stdout
    shares = dict(re.findall(r"^  seed +(\d+)  (0\.\d+)$", done.stdout, re.MULTILINE))
    assert list(shares) == ["1", "2", "3", "4", "5"]
    replay = re.search(
        r"replay seed (\d): save as replay.toml, `fairweir run replay.toml`\n\n(duration.*?start[^\n]+\n\n.*?\n)\n",
        done.stdout,
        re.DOTALL,
    )
    assert replay, done.stdout
    worst = min(shares, key=lambda seed: float(shares[seed]))
    assert replay[1] == worst
    plugin = "target/release/libmystack.so"
    assert plugin in replay[2]
    scenario = Scenario.from_dict(
        tomllib.loads(replay[2].replace(plugin, str(sample / "target/debug/libmystack.so"))), source="replay.toml"
    )
    flows = run(scenario).summary.document["flows"]
    mine, cubic = (flow["throughput_mbps"] for flow in flows)
    assert f"{mine / (mine + cubic):.4f}" == shares[worst].ljust(6, "0")


def test_nothing_is_worse_and_the_step_passes(runner: Runner) -> None:
    assert runner.run(controllers="cubic", against="cubic", args=ARGS, fairweir="installed") == 0
    assert re.search(r"^## ✅ cubic against cubic .*: \d+ same$", runner.summary, re.MULTILINE)
    assert runner.outputs["audit"] == {"folder": str(runner.workspace / "results/fairweir"), "exit-code": "0"}
    assert runner.used == {
        "actions/upload-artifact": {
            "name": "fairweir",
            "path": str(runner.workspace / "results/fairweir"),
            "if-no-files-found": "ignore",
        }
    }


def test_what_is_worse_fails_the_step_and_is_the_failure_in_junit(runner: Runner, sample: Path) -> None:
    (runner.workspace / "stack").symlink_to(sample, target_is_directory=True)
    library = "target/debug/libmystack.so"
    given = {"controllers": f"{library}{{beta=0.4}}", "against": library, "args": ARGS, "fairweir": "installed"}
    assert runner.run(**given, working_directory="stack", out="ci") == 1
    assert "## ❌" in runner.summary
    assert "| | metric | at | reference → candidate | difference |" in runner.summary
    assert re.search(r"^\| ▼ worse \| policer\.policed\\_use \|", runner.summary, re.MULTILINE)
    folder = Path(runner.outputs["audit"]["folder"])
    assert runner.outputs["audit"]["exit-code"] == "1"
    junit = ET.parse(folder / "junit.xml").getroot()  # noqa: S314
    worse = {case.attrib["name"] for case in junit.iter("testcase") if case.find("failure") is not None}
    assert "policer.policed_use" in worse
    relative = json.loads((folder / "results.json").read_text(encoding="utf-8"))["relative"][0]
    assert worse == {standing["name"] for standing in relative["standings"] if standing["relation"] == "worse"}
    assert {"report.html", "summary.md"} <= {file.name for file in folder.iterdir()}
    assert "::error title=fairweir::something is worse" in runner.log
    assert "actions/upload-artifact" in runner.used

    assert runner.run(**given, working_directory="stack", out="ci", fail_on_worse="false") == 0
    assert runner.outputs["audit"]["exit-code"] == "1"
    assert "::warning title=fairweir::something is worse" in runner.log


def test_an_audit_that_cannot_run_fails_with_its_message_in_the_summary(runner: Runner) -> None:
    assert runner.run(controllers="cubic $(touch injected) no-such;", fairweir="installed") == 2
    assert runner.summary.startswith("# The audit could not run (exit status 2)\n")
    assert "error: no congestion controller" in runner.summary
    assert runner.outputs["audit"]["exit-code"] == "2"
    assert not (runner.workspace / "injected").exists()


def test_actions_of_others_are_pinned() -> None:
    steps = action()["runs"]["steps"] + [step for job in workflow()["jobs"].values() for step in job["steps"]]
    text = (ROOT / "action.yml").read_text() + (SAMPLE / ".github/workflows/fairweir.yml").read_text()
    uses = {step["uses"] for step in steps if "uses" in step} - {"OWNER/fairweir@v1"}
    assert len(uses) == 4
    for use in uses:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", use), use
        assert re.search(rf"{use} # v\d+\.\d+\.\d+\n", text), use


def test_the_sample_uses_inputs_that_exist() -> None:
    (step,) = [step for step in workflow()["jobs"]["audit"]["steps"] if "fairweir" in step.get("uses", "")]
    assert {"controllers"} <= step["with"].keys() <= action()["inputs"].keys()


def test_the_guide_shows_the_sample_and_all_inputs() -> None:
    page = (ROOT / "docs/howto/ci.md").read_text(encoding="utf-8")
    files = {"rust": SAMPLE / "tests" / "congestion.rs", "yaml": SAMPLE / ".github/workflows/fairweir.yml"}
    for language, file in files.items():
        (block,) = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        assert block in file.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.+?) \|", page.partition("| input |")[2], re.MULTILINE))
    inputs = action()["inputs"]
    assert set(rows) == set(inputs)
    defaults = {name: entry["default"] for name, entry in inputs.items() if entry.get("default")}
    assert {name: shown.strip("`") for name, shown in rows.items() if "`" in shown} == defaults


def test_silence_is_broken_and_the_status_kept() -> None:
    script = "echo first; sleep 2; printf half; sleep 2; echo ' done'; echo oops >&2; printf end; exit 7"
    command = [str(HEARTBEAT), "building", "bash", "-c", script]
    env = {**os.environ, "HEARTBEAT_S": "0.2"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    beats = [line for line in lines if re.fullmatch(r"building: \d+ s", line)]
    assert len(beats) >= 2
    # On a loaded machine a beat may also come in the middle of a word.
    assert "".join(line for line in lines if line not in beats) == "firsthalf doneoopsend"
