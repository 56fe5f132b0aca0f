"""Classes of a file, a module, a function or a script as controllers: in this process, workers and the child for C."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import fairweir
from fairweir.audit.runner import run_audit
from fairweir.ccas import class_objects
from fairweir.ccas.lookup import load_class
from fairweir.ccas.new import write_cca
from fairweir.errors import CcaError, ConfigError
from fairweir.play.run import run
from fairweir.play.sweep import fingerprint, sweep
from fairweir.scenario.dumbbell import dumbbell

LINK = {"rate": "12Mbps", "rtprop": "20ms", "duration": "3s"}


def paced(mbps: float) -> type[fairweir.Cca]:
    """Return a class defined in a function, which no other process can import."""

    class Paced(fairweir.Cca):
        def __init__(self, start: fairweir.Start, factor: float = 1.0) -> None:
            super().__init__(start)
            self.cwnd_bytes = 1000 * self.mss_bytes
            self.pacing_rate_mbps = mbps * factor

        def on_ack(self, ack: fairweir.Ack) -> None:
            pass

        def on_loss(self, loss: fairweir.Loss) -> None:
            pass

    return Paced


def test_classes_of_one_name_are_reported_apart() -> None:
    record = run(dumbbell([paced(2.0), paced(4.0)], **LINK))  # type: ignore[arg-type]
    assert [round(flow["throughput_mbps"]) for flow in record.summary.document["flows"]] == [2, 4]
    assert [flow["id"] for flow in record.summary.document["flows"]] == ["Paced-1", "Paced-2"]


def test_a_class_with_parameters() -> None:
    record = run(dumbbell({"name": paced(2.0), "factor": 3.0}, **LINK))  # type: ignore[arg-type]
    assert record.summary.document["flows"][0]["throughput_mbps"] == pytest.approx(6.0, rel=0.02)


def test_a_class_of_a_function_reaches_workers(tmp_path: Path) -> None:
    found = sweep(dumbbell(paced(3.0), **LINK), {"seed": [1, 2]}, tmp_path, workers=2)  # type: ignore[arg-type]
    assert not found.failures
    assert {round(one.flows[0].throughput_mbps) for one in found.summaries.values()} == {3}


def test_points_are_known_by_the_code_of_the_class() -> None:
    two, four = (fingerprint(dumbbell(paced(mbps), **LINK)) for mbps in (2.0, 4.0))  # type: ignore[arg-type]
    assert two != four


def test_a_class_of_a_file_is_named_by_its_file(tmp_path: Path) -> None:
    write_cca("mine", tmp_path)
    loaded = load_class(f"{tmp_path}/mine.py:Mine")
    assert class_objects.name_of(loaded) == f"{tmp_path}/mine.py:Mine"


def test_a_class_goes_to_the_child_that_plays_c(tmp_path: Path) -> None:
    write_cca("yours", tmp_path, is_c=True)
    record = run(dumbbell([f"{tmp_path}/yours.bpf.c", paced(2.0)], **LINK))  # type: ignore[arg-type]
    assert record.summary.document["flows"][1]["throughput_mbps"] == pytest.approx(2.0, rel=0.05)


def test_an_audit_takes_a_class() -> None:
    found = run_audit(paced(5.0), depth="quick", only="finite-flows", seeds=2)
    assert not found.ccas[0].families[0].faults


def test_classes_that_cannot_be_pickled_are_reported(tmp_path: Path) -> None:
    lock = threading.Lock()

    class Held(paced(2.0)):  # type: ignore[misc]
        def on_ack(self, ack: fairweir.Ack) -> None:
            with lock:
                super().on_ack(ack)

    found = sweep(dumbbell(Held, **LINK), {"seed": [1]}, tmp_path, workers=1)  # type: ignore[arg-type]
    (reason,) = found.failures.values()
    assert "Held#1` cannot be sent to another process: TypeError: cannot pickle '_thread.lock' object" in reason
    # In this process the class runs.
    assert run(dumbbell(Held, **LINK)).summary.document["packets"] > 0  # type: ignore[arg-type]


@pytest.mark.parametrize("cca", [int, fairweir.Cca])
def test_a_class_that_is_no_controller(cca: type) -> None:
    with pytest.raises(ConfigError, match=f"`{cca.__name__}` is not a congestion controller"):
        dumbbell(cca)


def test_a_class_of_another_session() -> None:
    with pytest.raises(CcaError, match="`__main__:Mine#7` was defined in another session") as caught:
        run(dumbbell("__main__:Mine#7", duration="1s"))
    assert caught.value.hint == "define the class in a file and give its path and name: `mine.py:Mine`"


SCRIPT = """
import fairweir
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.play.sweep import sweep

print("once")
RATE = 2.5

class Mine(fairweir.Cca):
    def on_ack(self, ack):
        self.cwnd_bytes, self.pacing_rate_mbps = 1000 * self.mss_bytes, RATE
    def on_loss(self, loss):
        pass

for cca in (Mine, "__main__:Mine"):
    scenario = dumbbell([cca], rate="12Mbps", rtprop="20ms", duration="5s", warmup="2s")
    here = run(scenario).summary.document["flows"][0]["throughput_mbps"]
    found = sweep(scenario, {"seed": [1, 2]}, "out", workers=2)
    there = [round(one.flows[0].throughput_mbps, 1) for one in found.summaries.values()]
    print(round(here, 1), there, found.failures)
"""


@pytest.mark.parametrize("is_file", [True, False])
def test_a_class_of_a_script_or_a_session_reaches_workers(is_file: bool, tmp_path: Path) -> None:
    # From stdin __main__ has no file, as in a notebook.
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    words = ["script.py"] if is_file else ["-"]
    given = None if is_file else SCRIPT
    done = subprocess.run(
        [sys.executable, *words], input=given, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["once", "2.5 [2.5, 2.5] {}", "2.5 [2.5, 2.5] {}"]


def test_an_object_is_rejected_with_the_class_to_give() -> None:
    class Mine(fairweir.Cca):
        pass

    with pytest.raises(CcaError, match=r"without a `start`") as caught:
        Mine()
    assert caught.value.hint == "pass the class: `dumbbell([Mine])`, not `dumbbell([Mine()])`"
