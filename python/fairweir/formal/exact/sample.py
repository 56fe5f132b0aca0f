"""Random traces of network models, taken from simulations that share no constraints with the encoding for solvers.

A simulation starts with an empty network. A trace is the last part of the simulation, so the trace may start with a
queue, with losses and with delays. The bytes of several flows are served in order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

from fairweir.formal.encoding.buffers import Buffer, fixed_size, min_size
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Sender
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.history import History
from fairweir.formal.exact.networks import definition_named

#: A function that returns a flow's rates for a given number of steps, in units of the link rate C.
Rates = Callable[[Random, int], Sequence[Fraction]]
#: Time that is simulated before a trace begins, in lengths of the trace.
WARM_UP = 3
#: Maximum number of simulations for one trace. A simulation of a CCAC link fails if the link has admitted tokens for
#: bytes that then do not arrive.
ATTEMPTS = 200


def sample(
    model: str,
    grid: Grid,
    buffer: Buffer,
    seed: int,
    rates: Rates | None = None,
    senders: Sequence[Sender] = (Sender.RATE,),
) -> Trace:
    """Return a random trace of a model. The same arguments give the same trace.

    Parameters
    ----------
    model : str, name of a model of :mod:`fairweir.formal.exact.networks` that has random traces
    grid : Grid, the sample points
    buffer : Buffer, kind of buffer at the bottleneck
    seed : int, seed of the random numbers
    rates : function that draws a flow's rates; None: :func:`mixed`
    senders : for each flow, the limit on its sending: a rate, a window or both

    Raises
    ------
    RuntimeError : all simulations failed, which is a bug
    """
    grid = grid if definition_named(model).has_jitter else grid.without_jitter()
    random = Random(seed)  # noqa: S311 - not for secrets
    for _ in range(ATTEMPTS):
        history = _run(model, grid, buffer, random, rates or mixed, senders)
        if history is not None:
            return _cut(history, model, grid, buffer, senders)
    raise RuntimeError(f"no {model} trace could be made from seed {seed}")


def mixed(random: Random, steps: int) -> list[Fraction]:
    """Return random rates, in units of C: runs of up to six steps, each steady, erratic, paused, or close to C.

    Parameters
    ----------
    random : Random, source of random numbers
    steps : int, number of rates
    """
    out: list[Fraction] = []
    top = Fraction(random.choice([1, 2, 3, 6]))
    while len(out) < steps:
        length = random.randint(1, 6)
        level = top * Fraction(random.randint(0, 12), 12)
        kind = random.choice(["steady", "wild", "pause", "around C"])
        out += [
            {
                "steady": level,
                "wild": top * Fraction(random.randint(0, 24), 12),
                "pause": Fraction(0),
                "around C": Fraction(random.randint(10, 14), 12),
            }[kind]
            for _ in range(length)
        ]
    return out[:steps]


def _run(
    model: str, grid: Grid, buffer: Buffer, random: Random, rates: Rates, senders: Sequence[Sender]
) -> History | None:
    alpha = Fraction(random.randint(1, 19), 100)
    beta = _size(buffer, grid, alpha, random)
    history = History(definition_named(model), grid, alpha, beta, len(senders), random)
    steps = (WARM_UP + 1) * grid.points
    plans = [rates(random, steps) for _ in senders]
    for t in range(steps):
        wanted = [
            history.by_rate(plan[t]) if sender is Sender.RATE else history.by_window(i, plan[t], sender)
            for i, (sender, plan) in enumerate(zip(senders, plans, strict=True))
        ]
        ahead = [plan[t + 1 : t + 1 + grid.d_steps] for plan in plans]
        if not history.advance(wanted, ahead if all(s is Sender.RATE for s in senders) else []):
            return None
    return history


def _size(buffer: Buffer, grid: Grid, alpha: Fraction, random: Random) -> Fraction | None:
    if not buffer.is_finite:
        return None
    fixed = fixed_size(buffer, grid)
    if fixed is not None:
        return fixed
    least = max(min_size(buffer, grid), alpha + Fraction(1, 100))
    return least + random.choice([Fraction(0), Fraction(random.randint(0, 60), 20)])


def _cut(history: History, model: str, grid: Grid, buffer: Buffer, senders: Sequence[Sender]) -> Trace:
    """Return the last points of a simulation as a trace. Curves are relative to the served and the detected lost bytes
    at the first of these points.
    """
    start, end = len(history.tokens) - grid.points, len(history.tokens)
    back = grid.r_steps
    flows = []
    for flow, sender in zip(history.flows, senders, strict=True):
        served = flow.served[start]
        detected = [flow.lost[t - back] for t in range(start, end)]
        origin = served + detected[0]
        accepted = [a - lo - served for a, lo in zip(flow.sent, flow.lost, strict=True)]
        flows.append(
            FlowTrace(
                sender=sender,
                A=tuple(a - origin for a in flow.sent[start:end]),
                S=tuple(s - served for s in flow.served[start:end]),
                L=tuple(lo - detected[0] for lo in flow.lost[start:end]),
                Ld=tuple(d - detected[0] for d in detected),
                left=tuple(x - served for x in flow.left[start:end]),
                past=tuple(accepted[start - j] for j in range(1, grid.points + 1)),
                rate=() if sender is Sender.WINDOW else tuple(flow.rates[start:end]),
                cwnd=() if sender is Sender.RATE else tuple(flow.windows[start:end]),
                delay=tuple(min(d, grid.points) for d in flow.delays[start:end]),
            )
        )
    served = sum((flow.served[start] for flow in history.flows), Fraction(0))
    tokens = tuple(x - served for x in history.tokens[start:end])
    return Trace(
        model=model,
        acks=Acks.MAY_PAUSE,
        grid=grid,
        buffer=buffer,
        alpha=history.alpha,
        beta=history.beta,
        TA=tokens,
        flows=tuple(flows),
    )
