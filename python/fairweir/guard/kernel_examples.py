"""Examples from real TCP: runs on the kernel are captured at the receivers; the simulator's code extracts features."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fairweir import _core
from fairweir.guard.configurations import LEARN_FROM, PlannedRun
from fairweir.guard.examples import Examples, Library, draw_rows, one_in
from fairweir.play.batch import LATE_RETRIES
from fairweir.play.kernel import Options, receiver_address
from fairweir.play.run import run
from fairweir.play.simulate import Capture
from fairweir.play.sweep import fingerprint


def gather_on_kernel(
    planned_runs: Sequence[PlannedRun],
    rows: int,
    library: Library,
    *,
    on_done: Callable[[], object] | None = None,
) -> list[Examples | None]:
    """Run the planned runs on the kernel, except those whose examples are stored, and return the examples of all.

    Parameters
    ----------
    planned_runs : the runs, one after another; examples are from the last fifth of each
    rows : int; maximum examples of each run
    library : gets each run's examples as it ends
    on_done : called after each run

    Returns
    -------
    list in the order of `planned_runs`; None for a run that cannot be judged, because packets were released late

    Raises
    ------
    KernelError, ConfigError : as for :func:`fairweir.play.run.run`
    KeyboardInterrupt : Ctrl-C; finished runs are stored
    """
    found = []
    for planned in planned_runs:
        key = f"{fingerprint(planned.scenario, 'kernel')}-{platform.release()}-{rows}"
        found.append(library.get(key) or _play(planned, rows, library, key))
        if on_done is not None:
            on_done()
    return found


def _play(planned: PlannedRun, rows: int, library: Library, key: str) -> Examples | None:
    config = planned.scenario.resolve()
    from_ns = int(config["duration"] * LEARN_FROM)
    receivers = [receiver_address(i) for i in range(len(config["flows"]))]
    with tempfile.TemporaryDirectory(prefix="fairweir-examples-") as directory:
        capture = Capture(Path(directory) / "run.pcap", "receiver")
        for _ in range(1 + LATE_RETRIES):
            record = run(planned.scenario, on="kernel", capture=capture, options=Options(windows="autotuned"))
            if record.is_judged:
                columns = _core.capture_examples(
                    str(capture.path), receivers, from_ns, one_in(config, from_ns, rows), planned.seed
                )
                return library.put(key, *draw_rows(columns, config, rows, planned.seed))
    return None
