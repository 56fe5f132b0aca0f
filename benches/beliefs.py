"""Coverage of ``fairweir explain``: the fraction of bulk flows over known links whose true path is in the belief set.

    sudo .venv/bin/python benches/beliefs.py DIR --runs 200     (on the kernel's TCP, about 6 s each)

Run i is reproducible: a generator with seed i draws the rate (5 to 100 Mbit/s), the rtprop (10 to 100 ms) and the
buffer (0.5 to 4 BDP) log-uniformly; the controllers reno, cubic, bbr, copa and vegas take turns. DIR stores scenarios
and captures (``000.toml``, ``000.pcap``). Existing files are reused, so that an interrupted measurement resumes, and
captures from another machine can be judged.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from fairweir.cli.output import print_json
from fairweir.explain.read import explain_file
from fairweir.play.run import run
from fairweir.play.simulate import Capture
from fairweir.scenario.model import Scenario

CCAS: Final = ("reno", "cubic", "bbr", "copa", "vegas")
#: Minimum coverage.
MIN_COVERED: Final = 0.99
#: Maximum relative distance of both ends of C from the true rate at which C counts as known.
NEAR: Final = 0.1
#: Relative tolerance of the true value, for rounding and the hosts' part of the propagation delay.
SLACK: Final = 0.001
#: Time that the kernel's hosts and the emulator add to rtprop, ns.
HOSTS_NS: Final = 500_000


@dataclass(frozen=True)
class Truth:
    """A run's path; times in ns, data in bytes."""

    cca: str
    rate_bytes_per_s: float
    rtprop_ns: float
    buffer_bytes: float


@dataclass(frozen=True)
class Judged:
    """Beliefs about a run.

    Attributes
    ----------
    inside : dict, quantity -> whether the true value is in the belief set
    is_near : whether both ends of C are within `NEAR` of the true rate
    off : float; (rate that needs the minimum jitter) / (true rate) - 1
    line : str, summary for messages
    """

    truth: Truth
    inside: dict[str, bool]
    is_near: bool
    off: float
    line: str


def scenario_text(number: int) -> str:
    """Return the scenario of run `number` as TOML."""
    chance = random.Random(number)  # noqa: S311 - the same runs every time
    rate_mbps = 5 * 20 ** chance.random()
    rtprop_ms = 10 * 10 ** chance.random()
    buffer_bdp = 0.5 * 8 ** chance.random()
    return f"""name = "beliefs-{number:03}"
duration = "5s"
warmup = "1s"
seed = {number + 1}
link.bottleneck = {{ rate = "{rate_mbps:.1f}Mbps", buffer = "{buffer_bdp:.2f}bdp" }}
[[flow]]
cca = "{CCAS[number % len(CCAS)]}"
rtprop = "{rtprop_ms:.1f}ms"
start = "300ms"
"""


def truth_of(scenario: Scenario) -> Truth:
    """Return the true values of a scenario."""
    config = scenario.resolve()
    hop = config["links"][0]["hop"]
    return Truth(
        str(config["flows"][0]["cca"]),
        float(hop["link"]["rate"]),
        float(config["flows"][0]["rtprop"]),
        float(hop["queue"]["limit"]),
    )


def judge(truth: Truth, flow: dict[str, Any]) -> Judged:
    """Compare the beliefs about a flow with its true path."""
    belief = flow["cbr_delay"]
    if belief is None:
        changes = len(flow["pieces"]["changes"]) if flow["pieces"] else 0
        return Judged(truth, dict.fromkeys(("C", "rtprop", "buffer"), False), False, float("nan"), f"{changes} changes")

    def admits(ends: dict[str, Any], least: float, most: float) -> bool:
        return bool(ends["lo"] <= most * (1 + SLACK) and (ends["hi"] is None or ends["hi"] >= least * (1 - SLACK)))

    rate, rtprop, buffer = belief["rate_bytes_per_s"], belief["rtprop_ns"], belief["buffer_bytes"]
    inside = {
        "C": admits(rate, truth.rate_bytes_per_s, truth.rate_bytes_per_s),
        "rtprop": admits(rtprop, truth.rtprop_ns, truth.rtprop_ns + HOSTS_NS),
        "buffer": admits(buffer, truth.buffer_bytes, truth.buffer_bytes),
    }
    ends = (rate["lo"], rate["hi"] or float("inf"))
    is_near = all(abs(end / truth.rate_bytes_per_s - 1) <= NEAR for end in ends)
    off = belief["simplest"]["rate_bytes_per_s"] / truth.rate_bytes_per_s - 1
    min_ms = (belief["simplest"]["delay_max_ns"] - belief["simplest"]["rtprop_max_ns"]) * 1e-6
    line = (
        f"C {truth.rate_bytes_per_s * 8e-6:.1f}: {ends[0] * 8e-6:.2f} to {ends[1] * 8e-6:.2f} Mbit/s; "
        f"rtprop {truth.rtprop_ns * 1e-6:.1f}: {rtprop['lo'] * 1e-6:.2f} to {rtprop['hi'] * 1e-6:.2f} ms; "
        f"buffer {truth.buffer_bytes * 1e-3:.0f}: {buffer['lo'] * 1e-3:.0f} to {(buffer['hi'] or 0) * 1e-3:.0f} kB; "
        f"D {min_ms:.2f}, assumed {belief['jitter_assumed_ns'] * 1e-6:.2f} ms; {flow['lost_packets']} lost"
    )
    return Judged(truth, inside, is_near, off, line)


def measure(directory: Path, numbers: range) -> list[Judged]:
    """Run all runs without a capture, and judge all runs."""
    judged = []
    for number in track(numbers, console=Console(stderr=True), description="runs"):
        file, captured = directory / f"{number:03}.toml", directory / f"{number:03}.pcap"
        if not file.exists():
            file.write_text(scenario_text(number), encoding="utf-8")
        scenario = Scenario.load(file)
        if not captured.exists():
            run(scenario, on="kernel", capture=Capture(captured))
        flow = max(explain_file(captured)["flows"], key=lambda facts: facts["delivered_bytes"])
        judged.append(judge(truth_of(scenario), flow))
        if not all(judged[-1].inside.values()):
            missed = ", ".join(name for name, holds in judged[-1].inside.items() if not holds)
            Console(stderr=True).print(f"run {number}, {judged[-1].truth.cca}: {missed}: {judged[-1].line}")
    return judged


def show(judged: list[Judged]) -> None:
    """Print the coverage of each controller."""
    table = Table("CCA", "runs", "all inside", "C", "rtprop", "buffer", "C's ends near", "best C near", box=None)
    for cca in (*CCAS, "all"):
        mine = [one for one in judged if cca in (one.truth.cca, "all")]
        if mine:
            counts = [sum(one.inside[name] for one in mine) for name in ("C", "rtprop", "buffer")]
            table.add_row(
                cca,
                str(len(mine)),
                str(sum(all(one.inside.values()) for one in mine)),
                *map(str, counts),
                str(sum(one.is_near for one in mine)),
                str(sum(abs(one.off) <= NEAR for one in mine)),
            )
    Console().print(table)


def main() -> int:
    """Measure and print the coverage; return 0 if the claim holds, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--runs", type=int, default=200, help="number of runs")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    words = parser.parse_args()
    words.directory.mkdir(parents=True, exist_ok=True)
    judged = measure(words.directory, range(words.first, words.first + words.runs))
    if words.json:
        print_json([{"cca": one.truth.cca, **one.inside, "near": one.is_near, "off": one.off} for one in judged])
    else:
        show(judged)
    covered = sum(all(one.inside.values()) for one in judged)
    return 0 if covered >= MIN_COVERED * len(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
