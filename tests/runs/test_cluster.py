"""The same grid on a Dask cluster gives the same points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

#: Program for a separate process, because Dask leaves threads and timers that print warnings at the interpreter's exit.
SCRIPT = """
import sys
from pathlib import Path
from distributed import LocalCluster
from fairweir.scenario.dumbbell import dumbbell
from fairweir.play.sweep import sweep

scenario = dumbbell("reno", rtprop=["10ms", "20ms"], rate="12Mbps", duration="2s")
grid = {"seed": [1, 2], "flow.0.cca": ["reno", sys.argv[1]]}
here = sweep(scenario, grid, Path("here"))
with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
    there = sweep(scenario, grid, Path("there"), cluster=cluster.scheduler_address)
strip = lambda summaries: {key: (s.flows, s.links) for key, s in summaries.items()}
assert strip(here.summaries) == strip(there.summaries), "the cluster played something else"
assert here.failures.keys() == there.failures.keys()
print(len(there.summaries), len(there.failures), list(there.failures.values())[0])
"""


def test_a_cluster_plays_the_same(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import fairweir\nclass Mine(fairweir.Cca):\n    pass\n")
    environment = {**os.environ, "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, f"{tmp_path}/mine.py:Mine"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 2 flow `Mine-1` at ")
