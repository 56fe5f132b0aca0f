"""An audit's results with all elements of a report: fails, unknowns, faults, gaps, hunts, contracts and series."""

from __future__ import annotations

import math

import pytest

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits.registry import CONTRACT, HUNT
from fairweir.audit.results import (
    AuditResults,
    CcaResults,
    ClaimResult,
    Curve,
    FamilyResult,
    Fault,
    Point,
    Trace,
    TraceFlow,
    TraceLink,
)
from fairweir.contracts.points import ContractPoint
from fairweir.contracts.result import Candidate, ContractResult
from fairweir.hunting.result import Growth, GrowthPoint, HuntResult
from fairweir.judging.outcome import Direction, Interval, Outcome, Threshold

RATES = (12.0, 96.0, 1000.0)
FAIR = Threshold(bound=2.0, direction=Direction.AT_MOST, reason="no excuse for <more>", source="thesis chapter 5")
TOML = 'name = "ideal-rate"\nduration = "120s"\n# </script><script>alert(1)</script>\n'


def exhibit(family: str, metric: str, verdict: Outcome, value: float | None, **keys: object) -> ClaimResult:
    spread = None if value is None else (0.9 * value, 1.1 * value)
    return ClaimResult.model_validate(
        {
            "name": f"{family}.{metric}",
            "family": family,
            "metric": metric,
            "title": "fairness",
            "claim": "flows are fair",
            "value": value,
            "lo": spread[0] if spread else None,
            "hi": spread[1] if spread else None,
            "unit": "",
            "verdict": verdict,
            "why": f"because {verdict}",
            **keys,
        }
    )


def curve(metric: str, factor: float, *, law: str = "") -> Curve:
    points = [
        Point(
            x=rate,
            label=f"{rate:g} Mbps",
            value=factor * math.sqrt(rate),
            lo=0.8 * factor * math.sqrt(rate),
            hi=1.2 * factor * math.sqrt(rate),
            samples=[factor * math.sqrt(rate)],
            seeds=[1],
            theory=factor * 3.0 if law else None,
        )
        for rate in RATES
    ]
    return Curve(metric=metric, unit="", points=points, law=law)


def trace(cca: str, flows: int = 2) -> Trace:
    times = [float(t) for t in range(1, 11)]
    return Trace(
        label="96 Mbps",
        x=96.0,
        seed=1,
        warmup_s=3.0,
        t_s=times,
        flows=[
            TraceFlow(
                id=f"{cca}-{i + 1}",
                cca=cca,
                throughput_mbps=[10.0 * (i + 1) + t for t in times],
                cwnd_pkts=[100.0 + t for t in times],
                rtt_ms=[None, *[50.0 + t for t in times[1:]]],
            )
            for i in range(flows)
        ],
        links=[TraceLink(name="bottleneck", queue_pkts=[20.0 + t for t in times], drops=[0] * len(times))],
        scenario_toml=TOML,
    )


def ideal(cca: str, factor: float, *, is_faulty: bool = False) -> FamilyResult:
    fault = Fault(
        family="ideal-rate", label="1000 Mbps", seed=2, kind="controller", message="cwnd is NaN", scenario_toml=TOML
    )
    return FamilyResult(
        name="ideal-rate",
        title="Ideal link, over rates",
        question="Are flows fair?",
        setup="3 flows, rtprop 50 ms",
        axis=Axis(name="link rate", unit="Mbps", scale="log"),
        curves=[
            curve("ratio", factor),
            curve("rtt_ms", 10 * factor, law="R + θ n"),
            curve("jain", 0.01),
            curve("loss_rate", 1e-4),
        ],
        traces=[trace(cca)],
        faults=[fault] if is_faulty else [],
        runs=9,
        planned=9,
    )


def coexistence(values: tuple[float | None, ...]) -> FamilyResult:
    labels = ("cubic, 1 BDP", "reno, 1 BDP", "bbr, 1 BDP")
    points = [
        Point(x=float(i), label=label, value=value, lo=value, hi=value)
        for i, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    return FamilyResult(
        name="coexistence",
        title="Coexistence with CUBIC, Reno and BBR",
        question="Does it starve deployed algorithms?",
        setup="one flow and one incumbent",
        axis=Axis(name="incumbent", scale="category"),
        curves=[Curve(metric="new_by_incumbent", points=points), Curve(metric="harm_done", points=points)],
    )


def hunt(cca: str) -> HuntResult:
    return HuntResult(
        cca=cca,
        outcome="starvation",
        bound=8.0,
        kind="ack-aggregation",
        d_ms=31.5,
        d_below_ms=25.0,
        rate_mbps=96.0,
        buffer="4bdp",
        duration_s=30.0,
        ratio=Interval(value=14.2, lo=11.8, hi=17.1),
        seeds=[101, 102],
        victim="jittered",
        growth=[
            Growth(
                axis="rate_mbps",
                points=[
                    GrowthPoint(
                        x=x,
                        ratio=Interval(value=x / 8, lo=x / 9, hi=x / 7),
                        control=Interval(value=1.25, lo=1.125, hi=1.5),
                    )
                    for x in (96.0, 192.0)
                ],
                exponent=1.0,
            )
        ],
        smallest_d_ms={"ack-aggregation": 31.5, "uniform": None},
        rtprop_ms=40.0,
        flows=2,
        searched_rates_mbps=[24.0, 96.0],
        searched_buffers=["1bdp", "4bdp"],
        searched_d_ms=[0.5, 8.0, 128.0],
        runs=40,
        packets=10_000_000,
        budget_exhausted=False,
    )


def contract(cca: str) -> ContractResult:
    points = [
        ContractPoint(
            run=i,
            capacity_mbps=capacity,
            rtprop_ms=40.0,
            flows=n,
            seed=1,
            rate_mbps=capacity / n,
            window_pkts=10.0,
            share=1 / n,
            p50_qdelay_ms=24.0 * n / capacity,
            mean_qdelay_ms=25.0 * n / capacity,
            loss_rate=0.0,
            mark_rate=0.0,
        )
        for i, (capacity, n) in enumerate((c, n) for c in (12.0, 96.0) for n in (2, 4, 8))
    ]
    best = Candidate(
        statistic="p50_qdelay_ms",
        output="rate",
        family="power",
        formula="a s^c",
        parameters={"a": 24.0, "c": -1.0},
        mse=0.001,
        r_squared=0.999,
        between_r_squared=0.998,
        aic=-50.0,
        bic=-49.0,
        capacity_rmse=0.02,
    )
    return ContractResult(
        cca=cca,
        outcome="contract",
        reason="R² 0.999",
        best=best,
        exponent=Interval(value=-1.0, lo=-1.03, hi=-0.98),
        exponent_of="power",
        candidates=[best],
        points=points,
        curve=[(s, 24.0 / s) for s in (0.5, 2.0, 8.0, 16.0)],
        flags=["shift of 3 ms"],
    )


@pytest.fixture
def results() -> AuditResults:
    fails = exhibit(
        "ideal-rate",
        "ratio",
        Outcome.FAILS,
        31.6228,
        threshold=FAIR,
        at="1000 Mbps",
        expectation="starves <the short flow>",
        scenario="failing/bbr-ideal-rate.ratio.toml",
        scenario_toml=TOML,
        replay="fairweir run failing/bbr-ideal-rate.ratio.toml",
    )
    bbr = CcaResults(
        cca="bbr",
        verdict=Outcome.FAILS,
        exhibits=[
            fails,
            exhibit("ideal-rate", "rtt_ms", Outcome.INFO, 103.0, unit="ms"),
            exhibit("coexistence", "harm_done", Outcome.UNKNOWN, 9.5),
            exhibit(HUNT, "ratio", Outcome.FAILS, 14.2),
            exhibit(CONTRACT, "exponent", Outcome.HOLDS, -1.0),
        ],
        families=[ideal("bbr", 1.0, is_faulty=True), coexistence((9.5, 3.25, 1.0))],
        hunt=hunt("bbr").model_dump(mode="json"),
        hunt_trace=trace("bbr"),
        contract=contract("bbr").model_dump(mode="json"),
    )
    mine = CcaResults(
        cca="mine.py:MyCca",
        verdict=Outcome.UNKNOWN,
        exhibits=[
            exhibit("ideal-rate", "ratio", Outcome.HOLDS, 1.26491, threshold=FAIR),
            exhibit("coexistence", "harm_done", Outcome.UNKNOWN, None),
        ],
        families=[ideal("mine.py:MyCca", 0.04), coexistence((None, 0.125, None))],
    )
    return AuditResults(
        version="0.1.0",
        depth="default",
        command="fairweir audit bbr mine.py:MyCca",
        seeds=[1, 2, 3],
        complete=True,
        wall_s=83.4,
        runs=152,
        packets=586_000_000,
        environment={"python": "3.11.7", "machine": "x86_64"},
        ccas=[bbr, mine],
    )
