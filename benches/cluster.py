"""Measure what a cluster of real Dask processes on this machine adds to a job, and compare its results with local ones.

    python -m benches.cluster                       (2, 4, 8 and 16 workers)
    python -m benches.cluster --workers 2 --jobs 500

For each number of workers, a scheduler and single-threaded workers start on the loopback interface. They run jobs
that do nothing, twice, because the first jobs also start the workers' processes; then simulations, whose summaries
must equal those of this machine's cores to the bit.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairweir import Cluster
from fairweir.play.batch import Archive, Task, play_all
from fairweir.play.pool import Where, map_jobs
from fairweir.scenario.dumbbell import dumbbell

#: Real time, s, in which a scheduler must start.
PATIENCE_S = 60.0
#: Simulations that are compared, each about 0.2 s on one core.
CCAS, SEEDS = ("reno", "cubic", "bbr", "frcc"), range(1, 16)


def nothing(number: int) -> int:
    """Return the job."""
    return number


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with `workers` workers; kill all their processes at the end."""
    dask = str(Path(sys.executable).parent / "dask")
    processes: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:

        def start(*words: str) -> None:
            null = subprocess.DEVNULL
            command = [dask, *words, "--no-dashboard"]
            processes.append(subprocess.Popen(command, cwd=folder, start_new_session=True, stdout=null, stderr=null))

        try:
            file = Path(folder) / "scheduler.json"
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), "--no-show")
            end = time.monotonic() + PATIENCE_S
            while not (file.is_file() and file.read_text(encoding="utf-8").strip()):
                if time.monotonic() > end:
                    raise SystemExit("the scheduler did not start")
                time.sleep(0.05)
            address = json.loads(file.read_text(encoding="utf-8"))["address"]
            start("worker", address, "--nworkers", str(workers), "--nthreads", "1", "--local-directory", folder)
            yield address
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def idle(jobs: int, where: Where) -> float:
    """Return the real time per job, ms, of jobs that do nothing."""
    started = time.perf_counter()
    map_jobs(nothing, range(jobs), workers=where)
    return (time.perf_counter() - started) * 1e3 / jobs


def simulations(where: Where) -> tuple[float, list[object]]:
    """Return the real time, s, of the simulations, and their summaries."""
    tasks = [
        Task(dumbbell([cca, cca], rate="100Mbps", rtprop="20ms", duration="30s").override({"seed": seed}))
        for cca in CCAS
        for seed in SEEDS
    ]
    # Jobs with a time limit have processes of their own, which start with the first ones.
    play_all([Task(task.scenario.override({"duration": "100ms"})) for task in tasks], Archive(None), workers=where)
    started = time.perf_counter()
    outcomes = play_all(tasks, Archive(None), workers=where)
    wall_s = time.perf_counter() - started
    summaries = [outcomes[task.key].summary for task in tasks]
    if None in summaries:
        raise SystemExit("a simulation failed")
    # The real time of a run differs, even on one machine.
    return wall_s, [{**one.document, "wall_s": 0} for one in summaries if one is not None]


def main() -> None:
    """Print a row for this machine's cores, and one for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="2,4,8,16", help="numbers of workers")
    parser.add_argument("--jobs", type=int, default=2000, help="jobs that do nothing")
    asked = parser.parse_args()
    print(f"{'workers':>12} {'first jobs, ms':>15} {'further, ms':>12} {'simulations, s':>15}  results")
    first, further = idle(200, None), idle(asked.jobs, None)
    wall_s, expected = simulations(None)
    print(f"{'local cores':>12} {first:15.2f} {further:12.2f} {wall_s:15.1f}", flush=True)
    for workers in map(int, asked.workers.split(",")):
        with cluster(workers) as address, Cluster(address) as where:
            first, further = idle(200, where), idle(asked.jobs, where)
            wall_s, found = simulations(where)
        verdict = "equal" if found == expected else "DIFFERENT"
        print(f"{workers:12} {first:15.2f} {further:12.2f} {wall_s:15.1f}  {verdict}", flush=True)
        if found != expected:
            sys.exit(1)


if __name__ == "__main__":
    main()
