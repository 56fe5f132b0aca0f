"""The command line of the comparison."""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benches import peers
from benches.peers.building import (
    COMMIT,
    FLAGS,
    HTSIM,
    ROOT,
    MissingError,
    answer,
    build_htsim,
    build_ours,
    commit_of,
    compiler,
    require,
)
from benches.peers.pairing import WORKLOADS, Comparison, Run, Workload, compare, parse, table

BAD_INPUT: Final = 2


def cpu_model() -> str:
    """Return the processor's name."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def load() -> str:
    """Return the mean number of processes that wanted a CPU during the last minute."""
    return f"{os.getloadavg()[0]:.2f}"


def pinned(program: Path, cpu: int, workload: Workload) -> Callable[[], Run]:
    """Return a function that runs a workload on one CPU."""
    words = ["taskset", "-c", str(cpu), str(program), *workload.words]
    return lambda: parse(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def conditions(source: Path, pairs: int, cpu: int, load_before: str) -> dict[str, str]:
    """Return what a reader must know to judge the numbers."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": f"{cpu_model()}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}",
        "runs": f"{pairs} pairs on CPU {cpu}; load average {load_before} before, {load()} after",
        "fairweir": f"{commit_of(ROOT)}, release profile, {answer(['rustc', '--version'])}",
        "htsim": f"{commit_of(source)}, {answer([compiler(), '--version'])}, {' '.join(FLAGS)}",
    }


def report(comparisons: list[Comparison], facts: dict[str, str], *, is_json: bool) -> str:
    """Return the results as a table with notes, or as JSON with every run."""
    doubts = [doubt for one in comparisons for doubt in one.doubts()]
    if is_json:
        rows = [
            dataclasses.asdict(one)
            | {name: dataclasses.asdict(getattr(one, name)) for name in ("ours", "peer", "ratio")}
            for one in comparisons
        ]
        return json.dumps({**facts, "workloads": rows, "doubts": doubts}, indent=2)
    notes = [f"{name}: {value}" for name, value in facts.items()] + doubts
    return "\n".join([table(comparisons), "", *notes])


def main(words: list[str] | None = None) -> int:
    """Build both programs, run the pairs and print the results; return 2 if something is missing."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benches.peers", description=peers.__doc__, formatter_class=as_written)
    names = [workload.name for workload in WORKLOADS]
    cpus = sorted(os.sched_getaffinity(0))
    parser.add_argument("--htsim", metavar="DIR", type=Path, default=HTSIM, help=f"htsim's source; default {HTSIM}")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of runs per workload; default 7")
    parser.add_argument("--cpu", type=int, default=cpus[-1], help="the CPU on which both run; default the last one")
    parser.add_argument("--only", choices=names, help="one workload; default all")
    parser.add_argument("--json", action="store_true", help="print JSON, with every run")
    given = parser.parse_args(words)
    if given.pairs < 1 or given.cpu not in cpus:
        parser.error(f"--pairs is at least 1, --cpu one of {', '.join(map(str, cpus))}")
    try:
        require(given.htsim, ("cargo", compiler(), "taskset"))
    except MissingError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    if (commit := commit_of(given.htsim)) != COMMIT[: len(commit)]:
        print(f"htsim is at {commit}; the numbers in README.md are of {COMMIT[:12]}", file=sys.stderr)
    print("building both programs: minutes, the first time", file=sys.stderr)
    ours, peer = build_ours(), build_htsim(given.htsim, ROOT / "target" / "peers")
    load_before, comparisons = load(), []
    for workload in WORKLOADS:
        if given.only in (None, workload.name):
            print(f"{workload.name}: {given.pairs} pairs", file=sys.stderr)
            programs = [pinned(program, given.cpu, workload) for program in (ours, peer)]
            comparisons.append(compare(workload, given.pairs, *programs))
    facts = conditions(given.htsim, given.pairs, given.cpu, load_before)
    print(report(comparisons, facts, is_json=given.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
