"""Commands on a Dask cluster, whose scheduler and workers are real processes here, have the results of this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairweir.audit.jobs import Job, Measured
from fairweir.audit.stored_runs import StoredRuns
from fairweir.cli.main import main

pytest.importorskip("distributed")

ROOT = Path(__file__).parents[2]
#: Maximum time, s, of anything that a test waits for.
PATIENCE_S = 60.0
#: A controller whose runs take time but little CPU time, so that a process can be killed in the middle of an audit.
SLOW = """
import time
import fairweir

class Slow(fairweir.Cca):
    def __init__(self, start):
        super().__init__(start)
        time.sleep(0.1)
    def on_ack(self, ack):
        self.cwnd_bytes = 10 * self.mss_bytes
    def on_loss(self, loss):
        pass
"""
AUDIT = "audit slow.py:Slow --quick --only finite-flows --seeds 12 --out {out}"


@dataclass
class Lab:
    """A scheduler and workers on the loopback interface.

    Attributes
    ----------
    folder : Path, for the processes' files
    address : str, of the scheduler
    processes : the scheduler, then workers
    """

    folder: Path
    address: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *words: str) -> None:
        """Start a process of Dask, in a process group of its own."""
        command = [str(Path(sys.executable).parent / "dask"), *words, "--no-dashboard"]
        environment = {**os.environ, "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0"}
        with (self.folder / f"log-{len(self.processes)}").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)

    def start_scheduler(self) -> None:
        """Start the scheduler, and wait for its address."""
        file = self.folder / "scheduler.json"
        self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), "--no-show")
        until(lambda: file.is_file() and bool(file.read_text(encoding="utf-8").strip()))
        self.address = json.loads(file.read_text(encoding="utf-8"))["address"]

    def start_worker(self, *words: str) -> None:
        """Start a worker process."""
        self.start("worker", self.address, "--nthreads", "1", "--local-directory", str(self.folder), *words)

    def end(self) -> None:
        """Kill all processes, with those that they started."""
        for process in self.processes:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process as a machine's failure does: with all that it started, and without a word."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def laboratory(folder: Path, *workers: str) -> Iterator[Lab]:
    """Yield a scheduler with one worker process per text of options."""
    lab = Lab(folder)
    try:
        lab.start_scheduler()
        for words in workers:
            lab.start_worker(*words.split())
        yield lab
    finally:
        lab.end()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Return a cluster of two workers, which nannies start, as `dask worker` does by default."""
    with laboratory(tmp_path_factory.mktemp("lab"), "--nworkers 2") as found:
        yield found


def start(words: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command of fairweir."""
    command = [sys.executable, "-m", "fairweir", *words.split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, **pipes)  # type: ignore[call-overload,no-any-return]


def run(words: str, folder: Path) -> tuple[int, str, str]:
    """Run a command of fairweir; return its exit code, stdout and stderr."""
    process = start(words, folder)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def script(code: str, folder: Path, *words: str) -> str:
    """Run Python code in a process of its own, because Dask leaves threads behind; return stdout and stderr."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


#: What differs between two runs of a command: times, and the words of the command.
VOLATILE = {"wall_s", "command", "directory"}


def lasting(document: Any) -> Any:
    """Return a document without the parts that differ between two runs of a command."""
    if isinstance(document, dict):
        return {key: lasting(value) for key, value in document.items() if key not in VOLATILE}
    return [lasting(one) for one in document] if isinstance(document, list) else document


def results(path: Path) -> Any:
    """Return the results in a file, without the parts that differ between two runs of a command."""
    return printed(path.read_text(encoding="utf-8"))


def printed(text: str) -> Any:
    """Return the results in a text, without the parts that differ between two runs of a command."""
    # Messages have the names of the folders of results.
    return lasting(json.loads(re.sub("there/|again/", "here/", text)))


@pytest.fixture
def kernel_runs(tmp_path: Path) -> Path:
    """Return a file with the stored kernel runs of the two cells with the fewest packets."""
    lines = (ROOT / "scenarios/agree/kernel-runs/design-1.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [(json.loads(line), line) for line in lines]
    packets = {run["cell"]: sum(flow["delivered_pkts"] for flow in run["run"]["flows"]) for run, _ in runs}
    few = sorted(packets, key=lambda cell: packets[cell])[:2]
    path = tmp_path / "kernel.jsonl"
    path.write_text("".join(f"{line}\n" for run, line in runs if run["cell"] in few), encoding="utf-8")
    return path


#: A link with one flow, for `conform`.
SINGLE = """
name = "single"
duration = "6s"
link.bottleneck = { rate = "12Mbps", buffer = "1bdp" }
flow = [{ cca = "cubic", rtprop = "20ms" }]
"""
#: A classifier, for `guard examine`, that finds each flow's share near the fair one.
FOREST = {
    "trained_on": {"mix": "reno-cubic", "runs": 10, "duration_s": 5.0, "seed": 1},
    "features": ["rtt_us"],
    "baseline": [0.0, 1.0, 0.0],
    "trees": [],
}


@pytest.fixture
def inputs(tmp_path: Path) -> None:
    """Write the files that some commands read."""
    (tmp_path / "single").mkdir()
    (tmp_path / "single/single.toml").write_text(SINGLE, encoding="utf-8")
    (tmp_path / "forest.json").write_text(json.dumps(FOREST), encoding="utf-8")


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("audit reno --quick --only finite-flows --seeds 2 --out {out}", "results.json"),
        ("reproduce thesis-6.4 --quick --out {out}", "quick/reproduced.json"),
        ("agree --cells 134 --kernel-runs kernel.jsonl --out {out}", "agreement.json"),
        ("guard evaluate services -n 2 --duration 10s --out {out} --json", ""),
        (
            "guard train --model combined --runs 10 --rows 20 --duration 5s --rounds 1 --iterations 2 --data {out}"
            " --out {out}.json",
            "../{out}.json",
        ),
        (
            "contract derive vegas --capacities 12Mbps --flows 2 --rtprops 20ms --duration 6s --seeds 1 --out {out}"
            " --json",
            "",
        ),
        ("contract open-loop vegas --held qdelay=4ms..16ms --out {out} --json", ""),
        ("conform reno --to cubic --scenarios single --seeds 8 --out {out} --json", ""),
        ("starve vegas --ratio 1.5 --rate-range 4Mbps..8Mbps --rtprop 10ms --out {out} --json", ""),
        ("fluid wcc_ai --wbar 5 --noise 1 --seeds 2 --packets sim --out {out} --json", ""),
        ("guard examine forest.json --runs 10 --rows 20 --duration 5s --data {out} --json", ""),
    ],
    ids=lambda words: " ".join(words.split()[:2]) if " " in words else None,
)  # fmt: skip
def test_a_cluster_has_the_results_of_this_machine(
    words: str,
    file: str,
    lab: Lab,
    kernel_runs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(words.format(out="here").split())
    shown = capfd.readouterr().out
    there = run(f"{words.format(out='there')} --cluster {lab.address}", tmp_path)
    assert (there[0], code) in {(0, 0), (1, 1)}, there[2]
    if file:
        assert results(tmp_path / "there" / file.format(out="there")) == results(
            tmp_path / "here" / file.format(out="here")
        )
    else:
        assert printed(there[1]) == printed(shown)


CORNER = '--set template.condition=[{qdel_L=[1],R=[0]}] --set template.rate={C_L=["1/2",2],alpha=[0]} --set points=6'


def test_synthesis_on_a_cluster_finds_the_same_rules(
    lab: Lab, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("z3")
    assert main(["synth", "g1-5", *CORNER.split(), "--out", str(tmp_path / "here"), "--json"]) == 0
    here = json.loads(capfd.readouterr().out)
    code, out, err = run(f"synth g1-5 {CORNER} --out there --json --cluster {lab.address}", tmp_path)
    assert code == 0, err
    assert json.loads(out)["solutions"] == here["solutions"]


TREE = (
    "synth cloud-gaming --set depth=1 --set sampling.sessions=2 --set sampling.boxes=120 --set sampling.rounds=1"
    " --set sampling.sessions_per_round=1 --set tree.leaves=[2] --set tree.preferences=[0.1] --set tree.trials=2"
    " --set tree.tie=0"
)


def test_a_tree_of_a_cluster_is_the_same_and_its_labels_are_stored_here(lab: Lab, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    code, here, err = run(f"{TREE} --out here --json", tmp_path)
    assert here, err
    there = run(f"{TREE} --out there --json --cluster {lab.address}", tmp_path)
    assert there[:2] == (code, here.replace("here", "there"))
    labels = {path.name: path.read_bytes() for path in (tmp_path / "here" / "labels").iterdir()}
    assert len(labels) > 5
    assert labels == {path.name: path.read_bytes() for path in (tmp_path / "there" / "labels").iterdir()}
    # The stored labels need no cluster.
    assert run(f"{TREE} --out there --json", tmp_path)[0] == code


#: What of a lemma's result depends on the machine: the CPU time, and the solver that answered first.
TIMED = {"cpu_s", "solver"}


def lemmas(document: Any) -> Any:
    """Return the results of a suite, without what depends on the speed of the machine."""
    return [{key: value for key, value in one.items() if key not in TIMED} for one in document["lemmas"]]


def test_lemmas_have_the_same_results_anywhere(lab: Lab, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3")
    found = []
    for number in ("1", "2"):
        code = main(["prove", "aimd", "--points", "4", "--json", "--workers", number])
        found.append((code, lemmas(json.loads(capfd.readouterr().out))))
    code, out, err = run(f"prove aimd --points 4 --json --cluster {lab.address}", tmp_path)
    assert out, err
    assert found == [(code, lemmas(json.loads(out)))] * 2


def test_proofs_of_a_cluster_are_stored_here_and_reused(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("z3")
    monkeypatch.chdir(tmp_path)
    words = "prove aimd --points 4 --certificate --out there --json"
    code, out, err = run(f"{words} --cluster {lab.address}", tmp_path)
    assert "Traceback" not in err
    there = json.loads(out)
    asked = [one for one in there["lemmas"] if one["outcome"] in ("proved", "refuted") and one["about"] != "logic"]
    assert all(Path(file).is_file() for one in asked for file in one["files"])
    assert main(words.split()) == code
    again = {one["name"]: one for one in json.loads(capfd.readouterr().out)["lemmas"]}
    assert asked
    for one in asked:
        checked = "certificate checked again" if one["outcome"] == "proved" else "trace judged again"
        assert again[one["name"]]["kept"] == checked
        assert (again[one["name"]]["outcome"], again[one["name"]]["claim"]) == (one["outcome"], one["claim"])


SWEEPS = """
import sys
from pathlib import Path
import fairweir as fw

class Own(fw.Cca):
    def on_ack(self, ack):
        self.cwnd_bytes = 6000
    def on_loss(self, loss):
        pass

scenario = fw.dumbbell("reno", rtprop=["10ms", "20ms"], rate="12Mbps", duration="2s")
users = [f"users.py:{name}" for name in ("Mine", "Loops", "Dies", "Raises")]
grid = {"seed": [1, 2], "flow.0.cca": ["reno", fw.dumbbell(Own).flow[0].cca.name, *users]}
here = fw.sweep(scenario, grid, Path("here"), timeout_s=3.0)
with fw.Cluster(sys.argv[1]) as cluster:
    there = fw.sweep(scenario, grid, Path("there"), workers=cluster, timeout_s=3.0)
strip = lambda summaries: {key: (s.flows, s.links) for key, s in summaries.items()}
assert strip(here.summaries) == strip(there.summaries), "the cluster played something else"
assert here.failures == there.failures, (here.failures, there.failures)
print(len(there.summaries), *there.failures.values(), sep="\\n")
"""
USERS = """
import os
import fairweir

class Mine(fairweir.Cca):
    def on_ack(self, ack):
        self.cwnd_bytes = 8000
    def on_loss(self, loss):
        pass
class Loops(Mine):
    def on_ack(self, ack):
        while True:
            pass
class Dies(Mine):
    def on_ack(self, ack):
        os._exit(3)
class Raises(Mine):
    def on_ack(self, ack):
        raise KeyError("mine")
"""


def test_users_code_has_the_same_outcomes(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "users.py").write_text(USERS, encoding="utf-8")
    number, *failures = script(SWEEPS, tmp_path, lab.address).strip().splitlines()
    # Reno, the class in a file, whose path is relative, and the class of the script, with two seeds each.
    assert number == "6"
    for words in "did not end within 3 s", "its process died (exit code 3)", "KeyError: 'mine'":
        assert sum(words in reason for reason in failures) == 2, failures


def test_ctrl_c_keeps_the_finished_runs_and_the_cluster(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    process = start(f"{AUDIT.format(out='out')} --cluster {lab.address}", tmp_path)
    until(lambda: len(list((tmp_path / "out/runs").glob("*.json"))) >= 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "run the same command to resume" in err
    assert "Traceback" not in err
    assert run(f"audit reno --quick --only finite-flows --seeds 2 --out more --cluster {lab.address}", tmp_path)[0] == 0


PATCHED = """
import sys
from fairweir.ccas import lookup
from fairweir.cli.main import main
from fairweir.play import cluster
{patch}
print(main(["audit", "reno", "--quick", "--only", "finite-flows", "--out", "out", "--cluster", sys.argv[1]]))
"""
SOURCES = (
    'own = cluster.software(); cluster.software = lambda: cluster.Software(own.version, own.build, "0123456789ab")'
)
OTHER = 'cluster.software = lambda: cluster.Software("9.9.9", "0123456789ab")'


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (OTHER, r"worker tcp://\S+ has fairweir \S+ \(build \w{12}, .*\), and this command has fairweir 9.9.9 \(b"),
        # Lemmas are Python: the compiled module alone does not say which question a worker answers.
        (SOURCES, r"sources \w{12}\), and this command has fairweir \S+ \(build \w{12}, sources 0123456789ab\)"),
        # A worker that joins later checks the versions itself.
        (f"{OTHER}\ncluster.Cluster._check_workers = lambda *_: None", r"has fairweir \S+ \(build \w{12}, .*\), and"),
        (f"lookup.known_digests = lambda: {{{__file__!r}: 'other'}}", r"worker \S+ has another `\S+_cluster.py` than"),
    ],
    ids=["version", "sources", "version of a later worker", "file"],
)  # fmt: skip
def test_a_worker_with_another_program_or_file_is_refused(patch: str, message: str, lab: Lab, tmp_path: Path) -> None:
    said = script(PATCHED.format(patch=patch), tmp_path, lab.address)
    assert re.search(f"^error: .*{message}", said, re.MULTILINE), said
    assert "\n\nhint: " in said
    assert "Traceback" not in said
    assert re.search("^2$", said, re.MULTILINE)


def test_a_scheduler_without_workers_is_reported(tmp_path: Path) -> None:
    with laboratory(tmp_path) as lab:
        said = script(PATCHED.format(patch="cluster.NO_WORKERS_S = 0.5"), tmp_path, lab.address)
    assert f"error: the Dask scheduler at `{lab.address}` has had no worker for 0.5 s\n\nhint: start workers" in said


def test_no_scheduler_is_one_error(tmp_path: Path) -> None:
    said = script(PATCHED.format(patch="cluster.CONNECT_S = 0.5"), tmp_path, "tcp://127.0.0.1:1")
    assert "error: no Dask scheduler at `tcp://127.0.0.1:1`\n\nhint: start one with `dask scheduler`" in said
    assert "Traceback" not in said
    assert re.search("^2$", said, re.MULTILINE)


def test_killed_workers_and_a_killed_scheduler_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def stored(folder: str) -> set[str]:
        return {path.stem for path in (tmp_path / folder / "runs").glob("*.json")}

    code = main(AUDIT.format(out="here").split())
    (tmp_path / "dask").mkdir()
    with laboratory(tmp_path / "dask", "--no-nanny", "--no-nanny") as lab:
        process = start(f"{AUDIT.format(out='there')} --cluster {lab.address}", tmp_path)
        until(lambda: len(stored("there")) >= 2)
        kill(lab.processes[1])
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, err
        assert results(tmp_path / "there/results.json") == results(tmp_path / "here/results.json")
        process = start(f"{AUDIT.format(out='again')} --cluster {lab.address}", tmp_path)
        until(lambda: len(stored("again")) >= 2)
        kill(lab.processes[0])
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 2, err
        assert f"error: lost the connection to the Dask scheduler at `{lab.address}`" in err
        assert "\n\nhint: finished runs are stored: run the same command again" in err
        assert "Traceback" not in err
    before = stored("again")
    assert len(before) >= 2
    played: list[Job] = []
    put = StoredRuns.put

    def spy(stored: StoredRuns, job: Job, measured: Measured) -> None:
        played.append(job)
        put(stored, job, measured)

    monkeypatch.setattr(StoredRuns, "put", spy)
    assert main(AUDIT.format(out="again").split()) == code
    assert len(played) == 12 - len(before)
    assert results(tmp_path / "again/results.json") == results(tmp_path / "here/results.json")
