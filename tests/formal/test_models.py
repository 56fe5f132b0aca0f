"""Models and beliefs: compare encodings with the evaluator in both directions; possible and impossible behaviors."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairweir.errors import ConfigError
from fairweir.formal.beliefs import Expiry, Resolution, Start, Terms, cbr_delay, ccac
from fairweir.formal.beliefs import delay as delay_beliefs
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.evaluate import Evaluator, assignment
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import sample, violations
from fairweir.formal.exact.believe import believe, first_values
from fairweir.formal.lemmas.trial import families_of, make, try_out
from fairweir.formal.models import MODELS

POINTS = 6
NAMES = ("ideal", "cbr-delay", "ccac")
ALONE = (Sender.RATE,)
TOGETHER = [(Sender.WINDOW,), (Sender.RATE, Sender.RATE), (Sender.WINDOW, Sender.PACED_WINDOW)]
seeds = st.integers(0, 10**6)
unhurried = settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow])


def build(model: str, buffer: Buffer, senders: tuple[Sender, ...] = ALONE, per_r: int = 1) -> System:
    system = MODELS[model].build(Grid(POINTS, per_r), buffer, senders)
    if senders == ALONE:
        for family in families_of(model, buffer):
            FAMILIES[family].attach(system)
    return system


@pytest.fixture(scope="module")
def systems() -> dict[tuple[str, Buffer], System]:
    return {(model, buffer): build(model, buffer) for model in NAMES for buffer in Buffer}


@pytest.mark.parametrize("buffer", list(Buffer))
@pytest.mark.parametrize("model", NAMES)
@unhurried
@given(seed=seeds)
def test_random_traces_satisfy_the_model_its_encoding_and_their_beliefs(
    model: str, buffer: Buffer, seed: int, systems: dict[tuple[str, Buffer], System]
) -> None:
    assert try_out(systems[model, buffer], range(seed, seed + 10)).findings == ()


@pytest.mark.parametrize("senders", TOGETHER)
@pytest.mark.parametrize("model", NAMES)
def test_random_traces_of_windows_and_of_several_flows_satisfy_the_encoding(
    model: str, senders: tuple[Sender, ...]
) -> None:
    trial = try_out(build(model, Buffer.ARBITRARY, senders), range(25))
    assert trial.findings == ()


@pytest.mark.parametrize("model", NAMES)
def test_random_traces_satisfy_the_encoding_with_two_steps_per_r(model: str) -> None:
    assert try_out(build(model, Buffer.ARBITRARY, per_r=2), range(40)).findings == ()


def perturbed(trace: Trace, random: Random) -> Trace:
    """Change one number of a trace."""
    flow = trace.flows[0]
    name = random.choice(["A", "S", "L", "rate", "past", "delay", "TA", "C_L", "C_U"])
    nudge = random.choice([Fraction(1, 7), Fraction(-1, 7), Fraction(3)])
    t = random.randrange(trace.grid.points)
    if name == "TA":
        changed = {"TA": _nudged(trace.TA, t, nudge)}
        if trace.model != "ccac":
            return trace.model_copy(update=changed | {"flows": (flow.model_copy(update={"left": changed["TA"]}),)})
        return trace.model_copy(update=changed)
    if name == "delay":
        steps = min(trace.grid.points, max(0, flow.delay[t] + random.choice([-1, 1])))
        update: dict[str, object] = {"delay": (*flow.delay[:t], steps, *flow.delay[t + 1 :])}
    elif name in flow.beliefs:
        update = {"beliefs": flow.beliefs | {name: _nudged(flow.beliefs[name], t, nudge)}}
    else:
        update = {name: _nudged(getattr(flow, name), t, nudge)}
    if name == "S" and trace.model != "cbr-delay":
        update["left"] = update["S"]
    return trace.model_copy(update={"flows": (flow.model_copy(update=update),)})


def excluded(system: System, evaluator: Evaluator, trace: Trace) -> list[str]:
    try:
        return evaluator.broken(assignment(system, trace))
    except ValueError as error:
        return [str(error)]


def _nudged(column: tuple[Fraction, ...], t: int, nudge: Fraction) -> tuple[Fraction, ...]:
    return (*column[:t], column[t] + nudge, *column[t + 1 :])


@pytest.mark.parametrize("buffer", list(Buffer))
@pytest.mark.parametrize("model", NAMES)
def test_encoding_and_evaluator_agree_on_what_is_no_trace(
    model: str, buffer: Buffer, systems: dict[tuple[str, Buffer], System]
) -> None:
    system = systems[model, buffer]
    evaluator, rejected = Evaluator(system.groups), 0
    for seed in range(40):
        random = Random(seed)  # noqa: S311 - not for secrets
        trace = perturbed(make(model, Grid(POINTS), buffer, seed, ALONE), random)
        found, broken = violations(trace), excluded(system, evaluator, trace)
        assert bool(found) == bool(broken), (seed, [str(v) for v in found], broken)
        rejected += bool(found)
    assert rejected > 20


@pytest.mark.parametrize("senders", [ALONE, *TOGETHER])
@pytest.mark.parametrize("model", NAMES)
def test_the_evaluator_accepts_what_solvers_make(model: str, senders: tuple[Sender, ...]) -> None:
    system = MODELS[model].build(Grid(POINTS), Buffer.ARBITRARY, senders)
    if senders == ALONE:
        ccac.attach(system, start=Start.ANY, expiry=Expiry.AT_END)
        delay_beliefs.attach(system)
        if model != "ccac":
            cbr_delay.attach(system, start=Start.ANY, expiry=Expiry.AT_END, resolution=Resolution.EXACT)
    solver = z3.Solver()
    solver.add(system.assertions())
    random = Random(1)  # noqa: S311 - not for secrets
    accepted = 0
    for _ in range(6):
        solver.push()
        for t in random.sample(range(1, POINTS), 2):
            solver.add(system.A[t] - system.A[t - 1] >= Fraction(random.randint(0, 9), 3))
            solver.add(system.S[t] - system.S[t - 1] <= Fraction(random.randint(0, 6), 3))
        if solver.check() == z3.sat:
            trace = Trace.from_model(system, solver.model())
            assert [str(violation) for violation in violations(trace)] == []
            accepted += 1
        solver.pop()
    assert accepted >= 3


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("buffer", [Buffer.INFINITE, Buffer.ARBITRARY])
def test_encoding_and_evaluator_agree_on_contradicted_beliefs(buffer: Buffer, ends: bool) -> None:
    system = MODELS["cbr-delay"].build(Grid(POINTS), buffer)
    cbr_delay.attach(system, start=Start.ANY, expiry=Expiry.ON_CONTRADICTION)
    solver = z3.Solver()
    solver.add(*system.assertions(), cbr_delay.contradicted(system) == ends)
    assert solver.check() == z3.sat
    assert [str(violation) for violation in violations(Trace.from_model(system, solver.model()))] == []


@pytest.mark.parametrize("buffer", list(Buffer))
def test_random_traces_contradict_stale_beliefs_only(buffer: Buffer) -> None:
    terms, ended = Terms(Start.ANY, Expiry.ON_CONTRADICTION), 0
    for seed in range(100):
        plain = sample("cbr-delay", Grid(POINTS), buffer, seed)
        for start in (Start.ANY, Start.CONSISTENT):
            random = Random(seed)  # noqa: S311 - not for secrets
            first = first_values(plain, "cbr-delay", Terms(start), random)
            lower = believe(plain, 0, "cbr-delay", terms, first).flows[0].beliefs["C_L_lambda"]
            falls = lower[-1] < lower[-2]
            assert not (falls and start is Start.CONSISTENT)
            ended += falls
    assert ended > 10


def test_contradictions_are_known_for_steps_of_r_only() -> None:
    system = MODELS["cbr-delay"].build(Grid(POINTS, 2), Buffer.SMALL)
    with pytest.raises(ConfigError, match="steps of R = D only"):
        cbr_delay.attach(system, expiry=Expiry.ON_CONTRADICTION)


def test_a_trace_survives_its_file() -> None:
    trace = make("cbr-delay", Grid(POINTS, 2), Buffer.SMALL, 3, ALONE)
    assert Trace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"alpha": "', '"alpha": "x', "alpha"),
        ('"model"', '"modell"', "unknown key `modell`"),
        ('"alpha": "', '"alpha": 0.5, "beta": "', "not exact"),
        ('"alpha": "', '"alpha": "1e999999999", "beta": "', "not a fraction"),
    ],
)
def test_a_broken_file_is_reported_with_its_key(old: str, new: str, message: str) -> None:
    text = make("ccac", Grid(POINTS), Buffer.INFINITE, 3, ALONE).to_json().replace(old, new, 1)
    with pytest.raises(ConfigError, match=message) as error:
        Trace.from_json(text, source="trace.json")
    assert error.value.source == "trace.json"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 1}, "at least 2 points: `1`"),
        ({"points": 5, "per_r": 0}, "at least 1 step: `0`"),
        ({"points": 5, "jitter": Fraction(1, 2)}, "whole number of steps: `1/2`"),
    ],
)
def test_a_grid_that_cannot_be_is_rejected(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Grid(**arguments)  # type: ignore[arg-type]


def test_beliefs_refuse_a_flow_that_may_pause() -> None:
    system = MODELS["ccac"].build(Grid(POINTS), Buffer.SMALL, (Sender.WINDOW,))
    with pytest.raises(ConfigError, match="may pause: `window`"):
        ccac.attach(system)


def test_service_of_several_flows_is_in_the_order_of_arrival() -> None:
    """A flow that starts after the other flow's bytes have arrived is served after them."""
    system = MODELS["ideal"].build(Grid(POINTS), Buffer.INFINITE, (Sender.WINDOW, Sender.WINDOW))
    first, second = system.flows
    solver = z3.Solver()
    solver.add(system.assertions())
    solver.add(first.A[0] == 4, first.A[3] == 4, second.A[0] == 0, second.A[1] == 4)
    solver.add(system.S[3] == 3)
    assert solver.check() == z3.sat
    solver.add(second.S[3] > 0)
    assert solver.check() == z3.unsat


def test_a_delay_is_seen_in_qdel_l_above_the_jitter_only() -> None:
    system = MODELS["ccac"].build(Grid(POINTS), Buffer.INFINITE)
    delay_beliefs.attach(system)
    solver = z3.Solver()
    solver.add(system.assertions())
    solver.add(system.flows[0].delay[2][2], z3.Not(system.flows[0].delay[2][3]))
    assert solver.check() == z3.sat
    trace = Trace.from_model(system, solver.model())
    assert trace.flows[0].delay[2] == 2
    assert trace.flows[0].beliefs["qdel_L"][2] == 1
    assert trace.flows[0].beliefs["qdel_U"][2] == 3
    expected: list[tuple[Fraction | int, bool, bool]] = [
        (0, True, True),
        (1, False, True),
        (Fraction(3, 2), False, False),
        (-1, True, True),
    ]
    for bound, above, at_least in expected:
        model = solver.model()
        assert z3.is_true(model.eval(system.qdel_l_above(2, bound), model_completion=True)) == above
        assert z3.is_true(model.eval(system.qdel_l_at_least(2, bound), model_completion=True)) == at_least


def test_the_sampler_makes_losses_queues_jitter_and_waste() -> None:
    """Random traces must contain losses, queues, jitter and wasted tokens to be a useful test."""
    traces = [sample("ccac", Grid(POINTS), list(Buffer)[seed % 4], seed) for seed in range(120)]
    assert sum(trace.L[-1] > trace.L[0] for trace in traces) > 20
    assert sum(trace.bottleneck_queue(POINTS - 1) > 1 for trace in traces) > 10
    assert sum(any(trace.S[t] < trace.TA[t] for t in range(POINTS)) for trace in traces) > 60
    assert sum(trace.TA[-1] - trace.TA[0] < POINTS - 1 for trace in traces) > 30
    assert sum(any(trace.TA[t] > trace.accepted(t) for t in range(POINTS)) for trace in traces) > 10
    assert {"ccac", "buffer"} == set(make("ccac", Grid(POINTS), Buffer.SMALL, 1, ALONE).flows[0].attached)
