"""Run FRCC's kernel module in the simulator, to compare packets with the fluid model (``frcc_fluid.py``).

FRCC updates cwnd once per round. It divides a round into slots, and probes in one of them; with more slots, the probes
of different flows overlap less often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairweir.errors import FairweirError
from fairweir.judging.metrics import sampled
from fairweir.play.batch import Archive, Task, play_all, spread_starts
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

RATE = "48Mbps"
BUFFER = "100bdp"
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Played:
    """Throughputs and delays in one run.

    Attributes
    ----------
    throughputs_mbps : throughput of each flow
    qdelays_ms : median queueing delay of each flow
    """

    throughputs_mbps: list[float]
    qdelays_ms: list[float]

    @property
    def last_by_first(self) -> float:
        """Throughput of the last flow divided by that of the first flow."""
        return self.throughputs_mbps[-1] / self.throughputs_mbps[0]

    @property
    def others_by_first(self) -> float:
        """Mean throughput of all flows except the first, divided by the throughput of the first flow."""
        others = self.throughputs_mbps[1:]
        return sum(others) / len(others) / self.throughputs_mbps[0]


def on_one_link(rtprops_ms: list[int], slots: int | None = None) -> Scenario:
    """Return a scenario with FRCC flows of these rtprops on one link; `slots` is the number of slots per round."""
    return dumbbell(
        [_frcc(slots)] * len(rtprops_ms),
        rate=RATE,
        rtprop=[f"{rtprop}ms" for rtprop in rtprops_ms],
        buffer=BUFFER,
        duration="600s",
        warmup="200s",
    )


def on_parking_lot(hops: int, slots: int | None = None) -> Scenario:
    """Return a parking lot: the first FRCC flow crosses all `hops` links, and one more flow crosses each link. All
    rtprops are 10 ms; `slots` is the number of slots per round.
    """
    links = [f"hop{number}" for number in range(1, hops + 1)]
    paths = [links, *([link] for link in links)]
    flows = [{"cca": _frcc(slots), "rtprop": "10ms", "path": path} for path in paths]
    return Scenario.from_dict(
        {
            "duration": "1200s",
            "warmup": "300s",
            "link": {link: {"rate": RATE, "buffer": BUFFER} for link in links},
            "flow": flows,
        }
    )


def _frcc(slots: int | None) -> Any:
    return "frcc" if slots is None else {"name": "frcc", "min_slots": slots, "max_slots": slots}


def play(scenarios: dict[Any, Scenario], archive: Archive) -> dict[Any, list[Played]]:
    """Run each scenario once per seed.

    Raises
    ------
    FairweirError : a run failed
    """
    tasks = {key: [Task(spread_starts(scenario, seed)) for seed in SEEDS] for key, scenario in scenarios.items()}
    outcomes = play_all([task for several in tasks.values() for task in several], archive)
    found: dict[Any, list[Played]] = {}
    for key, several in tasks.items():
        found[key] = []
        for task in several:
            outcome = outcomes[task.key]
            if outcome.summary is None:
                raise FairweirError(f"a run of FRCC failed: {outcome.failure}")
            flows = outcome.summary.flows
            rates = [flow.throughput_mbps for flow in flows]
            found[key].append(Played(rates, [sampled(flow.qdelay_ms.p50, flow.id) for flow in flows]))
    return found
