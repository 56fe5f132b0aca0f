"""The pool: a job that raises, hangs or dies does not affect the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fairweir.errors import ConfigError, ControllerError
from fairweir.play import scratch
from fairweir.play.pool import Failed, InterruptedJobs, default_workers, iter_jobs, map_jobs
from fairweir.play.worker import play
from fairweir.scenario.dumbbell import dumbbell

LOOPS = """
import fairweir

class Loops(fairweir.Cca):
    def on_ack(self, ack):
        while True:
            pass
    def on_loss(self, loss):
        pass

class Dies(fairweir.Cca):
    def on_ack(self, ack):
        import os
        os._exit(7)
    def on_loss(self, loss):
        pass

class Raises(fairweir.Cca):
    def on_ack(self, ack):
        raise ValueError("as told")
    def on_loss(self, loss):
        pass
"""


def scenario(cca: str, seed: int = 1) -> dict[str, object]:
    return dumbbell(cca, rate="12Mbps", rtprop="20ms", duration="2s", seed=seed).to_dict()


def test_outcomes_come_in_the_order_of_the_jobs() -> None:
    jobs = [scenario("reno", seed) for seed in (5, 6, 7)]
    outcomes = map_jobs(play, jobs)
    assert [outcome.index for outcome in outcomes] == [0, 1, 2]
    assert [outcome.value.seed for outcome in outcomes if outcome.ok] == [5, 6, 7]
    assert map_jobs(play, []) == []


def waits_or_makes_a_folder(job: tuple[str, Path]) -> None:
    name, note = job
    if name == "waits":
        while not note.exists():
            time.sleep(0.01)
        return
    note.with_suffix(".part").write_text(str(scratch.new_folder("test-")))
    note.with_suffix(".part").rename(note)
    time.sleep(100)


def test_temporary_files_of_interrupted_jobs_are_removed(tmp_path: Path) -> None:
    note = tmp_path / "note"
    outcomes = iter_jobs(waits_or_makes_a_folder, [("waits", note), ("makes", note)], workers=2)
    assert next(outcomes).index == 0
    folder = Path(note.read_text())
    assert folder.is_dir()
    outcomes.close()  # type: ignore[attr-defined]
    assert not folder.exists()
    assert not folder.parent.exists()
    assert folder.parent.name.startswith("fairweir-jobs-")


def test_misbehaving_jobs_are_typed_failures_and_the_rest_continues(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(LOOPS)
    names = ["Loops", "Dies", "Raises"]
    jobs = [scenario(f"{tmp_path}/bad.py:{name}") for name in names] + [scenario("ren0"), scenario("reno")]
    reported: list[int] = []
    # The time limit allows for the slow start of a worker on a busy machine; the loop never ends.
    outcomes = map_jobs(play, jobs, workers=2, timeout_s=8, on_done=lambda outcome: reported.append(outcome.index))
    assert sorted(reported) == [0, 1, 2, 3, 4]
    kinds = [outcome.kind if isinstance(outcome, Failed) else "done" for outcome in outcomes]
    assert kinds == ["timeout", "crash", "error", "error", "done"]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Failed)]
    assert reasons[0] == "did not end within 8 s"
    assert reasons[1] == "its process died (exit code 7)"
    assert "ValueError: as told (bad.py, line 20, in on_ack)" in reasons[2]
    error, config_error = (outcome.error for outcome in outcomes[2:4] if isinstance(outcome, Failed))
    # Errors from a worker have all their attributes.
    assert isinstance(error, ControllerError)
    assert error.flow == "Raises-1"
    assert isinstance(config_error, ConfigError)
    assert config_error.key == "flow.0.cca"


def test_iter_jobs_gives_outcomes_as_they_come_and_may_be_left() -> None:
    for outcome in iter_jobs(play, [scenario("reno", seed) for seed in range(4)], workers=1):
        assert outcome.ok
        break


def test_there_is_a_worker_a_core() -> None:
    assert default_workers() == len(os.sched_getaffinity(0))


SCRIPT = """
import sys
from fairweir.play.pool import InterruptedJobs, map_jobs
from fairweir.scenario.dumbbell import dumbbell
from fairweir.play.worker import play

quick = dumbbell("reno", rate="12Mbps", rtprop="20ms", duration="2s").to_dict()
endless = dumbbell("reno", rate="100Gbps", rtprop="20ms", duration="500h", buffer="infinite").to_dict()
try:
    map_jobs(play, [quick, endless, endless], workers=1, on_done=lambda outcome: print("done", flush=True))
except InterruptedJobs as interrupted:
    print([outcome.kind if not outcome.ok else "done" for outcome in interrupted.outcomes])
    sys.exit(130)
"""


def test_ctrl_c_keeps_what_has_finished(tmp_path: Path) -> None:
    # No `if __name__ == "__main__"`: workers must not run the script again.
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    process = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    assert rest == "['done', 'cancelled', 'cancelled']\n"
    assert process.returncode == 130


def test_an_interrupt_is_a_keyboard_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        raise InterruptedJobs([])


STARTS_LATE = """
    import os, signal, time

    def start(folder):
        # Of two workers, one starts late, and the other ends after it.
        try:
            os.mkdir(f"{folder}/first")
        except FileExistsError:
            time.sleep(1.0)
        return folder

    class Late:
        def __init__(self, folder):
            self.folder = folder

        def __reduce__(self):
            return start, (self.folder,)

    def become(folder):
        signal.signal(signal.SIGTERM, lambda *_: (time.sleep(2.0), os._exit(0)))
"""
CLOSES_EARLY = """
    import math, os, pebble
    from fairweir.play.pool import fork_server
    from late import Late, become

    here = os.path.dirname(__file__)
    pool = pebble.ProcessPool(max_workers=2, context=fork_server(), initializer=become, initargs=(Late(here),))
    pool.schedule(math.sqrt, args=(1.0,)).result()
    pool.close()
    pool.join()
"""


def test_a_worker_that_starts_while_its_pool_ends_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(textwrap.dedent(STARTS_LATE))
    (tmp_path / "script.py").write_text(textwrap.dedent(CLOSES_EARLY))
    command = [sys.executable, str(tmp_path / "script.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
