"""Derive the contract of a CCA from simulator runs.

A contract is a function from a statistic (queueing delay, loss rate or mark rate that a flow observes) to the flow's
rate. The function determines how flows of the CCA share a link.

Flows of one CCA run on dumbbells, where they share one bottleneck, with several link rates, numbers of flows and
propagation delays (rtprops). Shapes of functions are fitted to the points (statistic, rate). The result is the shape
with the smallest error at link rates left out of the fit, with its exponent and unusual properties. If flows with equal
statistics get different rates, no function describes the CCA, and there is no contract.

References
----------
Thesis sections 5.2.1 (procedure, Table 5.1) and 6.1. Deviations: the thesis takes the shape with the smallest error;
here a shape must also predict link rates left out of the fit, and each parameter is penalized. Besides a rate, the
function's value may be a window or a share of the link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from fairweir.ccas.cca_spec import require
from fairweir.contracts.cached_runs import cached
from fairweir.contracts.flags import CLAMPED_FLOWS, overflowing
from fairweir.contracts.judge import UNFAIR_RUNS, judge
from fairweir.contracts.plan import Plan, plan_for
from fairweir.contracts.points import ContractPoint, Setting, read
from fairweir.contracts.result import ContractResult
from fairweir.play.batch import Archive
from fairweir.play.measure import Measure, RunFault
from fairweir.scenario.dumbbell import Cca, cca_name

Progress = Callable[[str], object]

QUEUE_GROWTH = 2.0
"""If a CCA's queueing delay grows by more than this factor when the buffer grows by a factor of five, the CCA counts as
one that fills every buffer.
"""


class _Collector:
    """Runs scenarios, and collects the observations and rate of each flow."""

    def __init__(self, cca: Cca, plan: Plan, measure: Measure, progress: Progress) -> None:
        self.cca, self.plan, self._measure, self._progress = cca, plan, measure, progress
        self.runs = self.packets = 0
        self.faults: list[str] = []

    def play(self, what: str, settings: Iterable[Setting], seeds: Sequence[int]) -> list[ContractPoint]:
        """Run each setting with each seed, and return one point per flow; failed runs have no points."""
        plan = self.plan
        jobs = [(s, seed) for s in settings for seed in seeds]
        order = sorted(range(len(jobs)), key=lambda i: -jobs[i][0].packets(plan.duration))
        self._progress(what)
        scenarios = [jobs[i][0].scenario(self.cca, plan.duration, plan.warmup, jobs[i][1]) for i in order]
        measured = dict(zip(order, self._measure(scenarios), strict=True))
        points: list[ContractPoint] = []
        for i, (setting, seed) in enumerate(jobs):
            got = measured[i]
            if isinstance(got, RunFault):
                self.faults.append(got.reason)
            else:
                points += read(setting, seed, self.runs, got)
                self.packets += setting.packets(plan.duration)
                self.runs += 1
        return points


def derive(
    cca: Cca,
    *,
    measure: Measure | None = None,
    plan: Plan | None = None,
    has_oracle: bool = True,
    on_progress: Progress | None = None,
) -> ContractResult:
    """Derive the contract of a CCA from runs.

    Parameters
    ----------
    cca : name, path, or table with parameters, as in a scenario file
    measure : function that runs scenarios; None: the simulator on all cores, with turning points of windows
        (`contracts/turning_points.py`)
    plan : the settings of the runs; None: those that suit the kind of CCA
    has_oracle : whether the world of `measure` can report the rtprop to controllers; then a CCA without a contract runs
        again with the rtprop known
    on_progress : function that is called before each batch of runs

    Returns
    -------
    ContractResult : its ``outcome`` is "contract", "none" (no function describes the CCA), or "failed" (more runs
        failed than succeeded)

    Raises
    ------
    ConfigError, CcaError : the CCA does not exist, or its parameters are wrong
    """
    if measure is None:
        require(cca)
    plan = plan or plan_for(cca)
    measure = measure or cached(Archive(None))
    progress = on_progress or (lambda what: None)
    result = _derive(cca, plan, measure, progress)
    if result.outcome == "none" and result.unfair_runs > UNFAIR_RUNS and has_oracle and not plan.oracle:
        informed = _derive(cca, replace(plan, oracle=True), measure, lambda what: progress(f"{what}, rtprop known"))
        if informed.has_contract:
            flag = f"only if rtprop is known: otherwise {result.reason}"
            spent = {"runs": result.runs + informed.runs, "packets": result.packets + informed.packets}
            return informed.model_copy(update={"flags": [flag, *informed.flags], **spent})
    return result


def _derive(cca: Cca, plan: Plan, measure: Measure, progress: Progress) -> ContractResult:
    collector = _Collector(cca, plan, measure, progress)
    buffer = _pick_buffer(collector, plan)
    points = collector.play("points", plan.settings(buffer), plan.seeds)
    elsewhere = collector.play("other rtprops", plan.corners(plan.rtprops[1:], buffer), plan.seeds[:1])
    common = {
        "cca": cca_name(cca),
        "buffer": buffer,
        "oracle": plan.oracle,
        "points": points,
        "runs": collector.runs,
        "packets": collector.packets,
        "faults": list(dict.fromkeys(collector.faults)),
    }
    if len(collector.faults) > collector.runs:
        reason = (
            f"{len(collector.faults)} of {len(collector.faults) + collector.runs} runs failed: {collector.faults[0]}"
        )
        return ContractResult.model_validate({**common, "outcome": "failed", "reason": reason})
    return ContractResult.model_validate({**common, **judge(points, elsewhere)})


def _pick_buffer(collector: _Collector, plan: Plan) -> str:
    """Return the size of the buffer for the fit, in scenario notation.

    If few flows lose packets with the deep buffer, the result is the deep buffer. Otherwise the queueing delays with
    the deep and with the ample buffer are compared: a CCA that fills every buffer gets the shallow buffer, and any
    other CCA gets the ample buffer.
    """
    base = plan.rtprops[:1]
    deep = collector.play("deep buffers", plan.corners(base, plan.deep_buffer), plan.seeds[:1])
    if overflowing(deep) <= CLAMPED_FLOWS:
        return plan.deep_buffer
    ample = collector.play("ample buffers", plan.corners(base, plan.ample_buffer), plan.seeds[:1])
    if not ample:
        return plan.shallow_buffer
    before, after = (float(np.median([p.p50_qdelay_ms for p in some])) for some in (deep, ample))
    return plan.shallow_buffer if after > QUEUE_GROWTH * before else plan.ample_buffer
