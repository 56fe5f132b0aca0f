"""Compare a scenario on the kernel's TCP without and with a guard at the receivers.

A flow's id determines its service: ``files-3`` belongs to ``files``. The guard receives these names, so that a policy
can group flows by them (``group = "name"``).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairweir.guard.daemon import find_daemon
from fairweir.play.kernel import Guarding, Options, sender_address
from fairweir.play.run import Run, fairness, run
from fairweir.scenario.model import Scenario
from fairweir.scenario.resolve import flow_ids
from fairweir.units import NS_PER_S


@dataclass(frozen=True)
class Comparison:
    """Two runs of one scenario.

    Attributes
    ----------
    without : Run
    guarded : Run; its summary has ``guard``, the guard's last status
    """

    without: Run
    guarded: Run

    def table(self) -> dict[str, Any]:
        """Return the output of ``fairweir guard compare --json``.

        Returns
        -------
        dict; ``without`` and ``guarded``, each with ``services_mbps`` by name, ``jain_services``, ``jain_flows`` (1 if
        all are equal), ``utilization`` of the first link (after the warm-up), ``queue_ms``, ``retransmits`` and
        ``judged``; and ``guard``, with the counters of the guard's kernel part, ``cpu_s`` and ``uptime_s``
        """
        status = self.guarded.summary.document["guard"]
        kernel = {
            key: status["kernel"][key] for key in ("summarised", "lost", "thinned", "merged", "rewritten", "unscaled")
        }
        return {
            "without": _outcome(self.without),
            "guarded": _outcome(self.guarded),
            "guard": {**kernel, "cpu_s": status["cpu_s"], "uptime_s": status["uptime_s"]},
        }


def service_of(flow_id: str) -> str:
    """Return the service of a flow: its id without the number."""
    return re.sub(r"-\d+$", "", flow_id)


def hosts(scenario: Scenario) -> str:
    """Return lines of /etc/hosts that name the senders of `scenario` in the kernel world after their services."""
    ids = [flow_id for several in flow_ids(scenario.flow) for flow_id in several]
    return "".join(f"{sender_address(i)} {service_of(flow_id)}\n" for i, flow_id in enumerate(ids))


def compare(
    scenario: Scenario,
    policies: Path,
    *,
    interval: str = "500ms",
    log: Path | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> Comparison:
    """Run `scenario` on the kernel without and with a guard.

    Parameters
    ----------
    scenario : Scenario
    policies : Path of the guard's policy file
    interval : str, time with unit; sampling interval of the time series
    log : Path of the file to which the guard writes its decisions
    on_progress : called with the finished fraction of both runs, 0 to 1

    Raises
    ------
    KernelError, ConfigError : as for :func:`fairweir.play.run.run`; or the guard rejects its policies
    """
    daemon = find_daemon()

    def part(start: float) -> Callable[[float], object] | None:
        return None if on_progress is None else lambda fraction: on_progress(start + fraction / 2)

    without = run(scenario, on="kernel", interval=interval, on_progress=part(0.0))
    with tempfile.NamedTemporaryFile("w", suffix=".hosts", encoding="utf-8") as names:
        names.write(hosts(scenario))
        names.flush()
        guarding = Guarding(daemon, policies, Path(names.name), log)
        options = Options(guarding=guarding)
        guarded = run(scenario, on="kernel", interval=interval, options=options, on_progress=part(0.5))
    return Comparison(without, guarded)


def over_time(record: Run) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return the times (s) and each service's throughput (Mbit/s) of a run with time series."""
    table = record.flows
    flow, rate = table["flow"], table["throughput_mbps"]
    t_s = table["t_ns"][flow == 0] / NS_PER_S
    services: dict[str, NDArray[np.float64]] = {}
    for number, row in enumerate(record.summary.flows):
        name = service_of(row.id)
        services[name] = services.get(name, np.zeros_like(t_s)) + rate[flow == number]
    return t_s, services


def _outcome(record: Run) -> dict[str, Any]:
    summary = record.summary
    services: dict[str, float] = {}
    for flow in summary.flows:
        name = service_of(flow.id)
        services[name] = services.get(name, 0.0) + flow.throughput_mbps
    link = summary.links[0]
    return {
        "services_mbps": services,
        "jain_services": fairness(list(services.values()))["jain"],
        "jain_flows": summary.jain,
        "utilization": link.utilization,
        "queue_ms": link.queue_ms.mean,
        "retransmits": sum(flow.retransmits for flow in summary.flows),
        "judged": record.is_judged,
    }
