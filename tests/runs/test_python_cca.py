"""Controllers written in Python: their decisions take effect, and their faults are reported."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairweir.ccas.lookup import check, load_class
from fairweir.errors import CcaError, ControllerError
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell

Write = Callable[[str], str]

RENO = """
import fairweir

class Reno(fairweir.Cca):
    def __init__(self, start, gain=1.0):
        super().__init__(start)
        self.gain = gain
        self.ssthresh = 1 << 30

    def on_ack(self, ack):
        if not ack.is_cwnd_limited or not ack.cum_acked or ack.in_recovery:
            return
        if self.cwnd_bytes < self.ssthresh:
            self.cwnd_bytes += ack.acked * self.mss_bytes
        else:
            self.cwnd_bytes += self.gain * ack.acked * self.mss_bytes ** 2 / self.cwnd_bytes

    def on_loss(self, loss):
        self.ssthresh = max(self.cwnd_bytes / 2, 2 * self.mss_bytes)
        self.cwnd_bytes = self.mss_bytes if loss.cause == "timeout" else self.ssthresh
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a class ``Mine`` with given handlers to a file and returns its scenario name."""

    def write(body: str) -> str:
        text = "import fairweir\nimport math\nimport pathlib\n\nclass Mine(fairweir.Cca):\n"
        (tmp_path / "mine.py").write_text(text + textwrap.indent(textwrap.dedent(body), "    "))
        return f"{tmp_path}/mine.py:Mine"

    return write


def played(name: str, **changes: Any) -> Mapping[str, Any]:
    """Run a flow without noise, whose times are then known exactly."""
    scenario = dumbbell(name, **{"rate": "12Mbps", "rtprop": "20ms", "duration": "10s", **changes})
    return run(scenario.override({"noise": "none"})).summary.document


def fault(name: str) -> ControllerError:
    with pytest.raises(ControllerError) as caught:
        played(name)
    return caught.value


def test_reno_in_python_does_what_reno_does(tmp_path: Path) -> None:
    (tmp_path / "reno.py").write_text(RENO)
    mine = played(f"{tmp_path}/reno.py:Reno", duration="30s")
    built_in = played("reno", duration="30s")
    assert mine["links"][0]["utilization"] == pytest.approx(built_in["links"][0]["utilization"], abs=0.01)
    assert mine["flows"][0]["rtt_ms"]["mean"] == pytest.approx(built_in["flows"][0]["rtt_ms"]["mean"], rel=0.05)
    assert mine["flows"][0]["loss_rate"] == pytest.approx(built_in["flows"][0]["loss_rate"], rel=0.3)


def test_parameters_are_keyword_arguments(tmp_path: Path) -> None:
    (tmp_path / "reno.py").write_text(RENO)
    name = f"{tmp_path}/reno.py:Reno"
    cca: list[Any] = [{"name": name, "gain": 4.0}, name]
    flows = run(dumbbell(cca, rate="12Mbps", rtprop="20ms", duration="60s")).summary.document["flows"]
    assert flows[0]["throughput_mbps"] > 1.3 * flows[1]["throughput_mbps"]
    with pytest.raises(CcaError, match="unexpected keyword argument 'gian'"):
        run(dumbbell({"name": name, "gian": 4.0}, duration="1s"))


def test_pacing(write: Write) -> None:
    name = write(
        """
        def __init__(self, start):
            super().__init__(start)
            self.cwnd_bytes = 1000 * self.mss_bytes
            self.pacing_rate_mbps = 3.0
        def on_ack(self, ack): pass
        def on_loss(self, loss): pass
        """
    )
    flow = played(name)["flows"][0]
    assert flow["throughput_mbps"] == pytest.approx(3.0, rel=0.01)
    # The first ten packets leave at once, as in Linux; the others find an empty queue, but for the hosts' noise.
    assert flow["qdelay_ms"]["max"] == pytest.approx(10.0, abs=0.1)
    assert flow["qdelay_ms"]["p95"] <= 1.2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("def on_ack(self, ack): self.cwnd_bytes = math.nan", "cwnd_bytes is not a number: nan"),
        ("def on_ack(self, ack): self.cwnd_bytes = math.inf", "cwnd_bytes is larger than 1 TiB: inf"),
        ("def on_ack(self, ack): self.cwnd_bytes = -1500", "cwnd_bytes is not positive: -1500"),
        ("def on_ack(self, ack): self.cwnd_bytes = 0", "cwnd_bytes is not positive: 0"),
        ("def on_ack(self, ack): self.cwnd_bytes = 1e30", "cwnd_bytes is larger than 1 TiB: 1e+30"),
        ("def on_ack(self, ack): self.cwnd_bytes = 10 ** 400", "cwnd_bytes is not a number: 1000000"),
        ("def on_ack(self, ack): self.cwnd_bytes = 'many'", "cwnd_bytes is not a number: 'many'"),
        ("def on_ack(self, ack): self.cwnd_bytes = None", "cwnd_bytes is not a number: None"),
        ("def on_ack(self, ack): del self.cwnd_bytes", "AttributeError: 'Mine' object has no attribute 'cwnd_bytes'"),
        ("def on_ack(self, ack): self.pacing_rate_mbps = -1", "pacing_rate_mbps is not positive: -1"),
        ("def on_ack(self, ack): self.pacing_rate_mbps = math.nan", "pacing_rate_mbps is not a number: nan"),
        (
            "def on_ack(self, ack): self.pacing_rate_mbps = 'fast'",
            "pacing_rate_mbps is neither a number nor None: 'fast'",
        ),
        # The line is that of the user's code, not of the base class that rejects the name or of the library that
        # raised.
        (
            "def on_ack(self, ack): self.cwnd = 3000",
            "AttributeError: set `cwnd_bytes`, in bytes; there is no `cwnd` (mine.py, line 6, in on_ack)",
        ),
        (
            "def on_ack(self, ack): self.pacing_rate = 3",
            "AttributeError: set `pacing_rate_mbps`, in Mbit/s; there is no `pacing_rate` (mine.py, line 6, in on_ack)",
        ),
        ("def on_ack(self, ack): pathlib.Path('none').read_text()", "FileNotFoundError: [Errno 2] No such file"),
        ("def on_ack(self, ack): 1 / 0", "ZeroDivisionError: division by zero (mine.py, line 6, in on_ack)"),
        ("def on_ack(self, ack): ack.rtt", "AttributeError: 'fairweir.Ack' object has no attribute 'rtt'"),
        ("def on_ack(self): pass", "TypeError: Mine.on_ack() takes 1 positional argument but 2 were given"),
        ("def on_loss(self, loss): pass", "NotImplementedError: Mine needs a method on_ack(self, ack)"),
        ("def on_ack(self, ack): raise SystemExit", "SystemExit"),
    ],
)
def test_faults_name_the_flow_the_time_and_what_it_did(write: Write, body: str, reason: str) -> None:
    error = fault(write(body))
    assert error.flow == "Mine-1"
    # The first ACK of data arrives two rtprops after the SYN, and transmission times later.
    assert 0.04 < error.at_s < 0.05
    assert error.reason.startswith(reason), error.reason
    assert str(error).startswith(f"flow `Mine-1` at {error.at_s * 1000:g}ms: ")


def test_a_fault_keeps_the_exception_behind_it(write: Write) -> None:
    error = fault(write("def on_ack(self, ack): return {}['missing']"))
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize("handler", ["on_loss", "on_send", "on_packet_lost", "on_packet_acked", "on_recovered"])
def test_every_handler_is_called_and_its_faults_are_reported(write: Write, handler: str) -> None:
    body = "def on_ack(self, ack): self.cwnd_bytes += 1500\ndef on_loss(self, loss): self.cwnd_bytes = 3000\n"
    error = fault(write(body + f"def {handler}(self, event): raise ValueError('{handler} was called')"))
    assert error.reason.startswith(f"ValueError: {handler} was called")


def test_a_constructor_that_raises(write: Write) -> None:
    with pytest.raises(CcaError, match=r"ValueError: no \(mine.py, line 6, in __init__\)") as caught:
        played(write("def __init__(self, start): raise ValueError('no')"))
    assert caught.value.key == "flow.0.cca"
    with pytest.raises(CcaError, match="no attribute 'cwnd_bytes'"):
        played(write("def __init__(self, start): pass"))


def test_fields_of_events(write: Write, tmp_path: Path) -> None:
    name = write(
        f"""
        def __init__(self, start):
            super().__init__(start)
            assert start.mss_bytes == 1500 and start.initial_cwnd_bytes == 15000
            assert start.oracle_rtprop_ms == 20.0
        def on_ack(self, ack):
            self.cwnd_bytes += 1500
            assert ack.now_ms == ack.now_ns / 1e6
            assert ack.acked >= 1 and ack.min_rtt_ms >= 20.0 and ack.srtt_ms >= 20.0
            assert ack.rtt_ms is None or ack.rtt_ms >= 20.0
            assert ack.newest is not None and ack.snd_una <= ack.snd_nxt
            assert 0 <= ack.inflight <= ack.prior_inflight and ack.delivered >= ack.acked
            assert ack.delivery_rate_mbps is None or 0 < ack.delivery_rate_mbps < 200
            assert ack.marked == 0 and ack.prior_delivered <= ack.delivered
        def on_loss(self, loss):
            pathlib.Path({str(tmp_path / "cause")!r}).write_text(loss.cause)
            self.cwnd_bytes = 3000
        """
    )
    played(name, oracle_rtprop=True, buffer="10pkts")
    assert (tmp_path / "cause").read_text() == "dupack"


def test_randomness_comes_from_the_seed(write: Write) -> None:
    name = write(
        """
        def on_ack(self, ack): self.cwnd_bytes = self.rng.randint(2, 20) * 1500
        def on_loss(self, loss): pass
        """
    )
    first, again, other = (played(name, seed=seed)["flows"] for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.py:X", "no such file: `nothing.py`"),
        ("reno.py", "no congestion controller `reno.py`"),
        ("no.such.module:X", "no Python module `no.such.module`"),
        ("math:pi", "`pi` in `math` is not a congestion controller"),
        ("math:X", "no class `X` in `math`"),
        ("nothing.bpf.c", "no such file: `nothing.bpf.c`"),
        ("", "no congestion controller ``"),
    ],
)
def test_names_that_lead_to_no_controller(name: str, message: str) -> None:
    with pytest.raises(CcaError) as caught:
        check(name)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_files_that_do_not_run(tmp_path: Path) -> None:
    for text, message in (("def f(:", "SyntaxError: invalid syntax (bad.py, line 1)"), ("1/0", "division by zero")):
        (tmp_path / "bad.py").write_text(text)
        with pytest.raises(CcaError) as caught:
            load_class(f"{tmp_path}/bad.py:X")
        assert message in caught.value.message


def test_a_file_that_changes_is_loaded_again(write: Write) -> None:
    first = load_class(write("answer = 1"))
    assert load_class(write("answer = 1")) is not None
    assert vars(first)["answer"] == 1
    name = write("answer = 22")
    assert vars(load_class(name))["answer"] == 22


def test_files_are_found_next_to_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "reno.py").write_text(RENO)
    record = run(dumbbell("reno.py:Reno", duration="1s", base=tmp_path))
    assert record.summary.document["flows"][0]["cca"] == "reno.py:Reno"
    assert record.summary.document["flows"][0]["id"] == "Reno-1"
