"""Random traces of the models: simulated from an empty network, without the encodings.

A trace begins long after the network did, so queues, losses and delays at its first point are reachable. The service
of several flows is first in, first out, byte by byte.
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

#: Returns a flow's rates, in C, for a number of steps.
Rates = Callable[[Random, int], Sequence[Fraction]]
#: Number of trace lengths that are simulated before a trace begins, so that its state is not that of an empty network.
WARM_UP = 3
#: Maximum number of discarded attempts: CCAC may store tokens for bytes that then do not arrive.
ATTEMPTS = 200


def sample(
    model: str,
    grid: Grid,
    buffer: Buffer,
    seed: int,
    rates: Rates | None = None,
    senders: Sequence[Sender] = (Sender.RATE,),
) -> Trace:
    """Return a random trace; the same arguments give the same trace.

    Parameters
    ----------
    model : str, name of a model of :mod:`fairweir.formal.exact.networks` that has random traces
    rates : the flows' rates, or None for a mixture of bursts, pauses, steps and steady rates

    Raises
    ------
    RuntimeError : no attempt succeeded, which is a bug
    """
    grid = grid if definition_named(model).has_jitter else grid.without_jitter()
    random = Random(seed)  # noqa: S311 - not for secrets
    for _ in range(ATTEMPTS):
        history = _run(model, grid, buffer, random, rates or mixed, senders)
        if history is not None:
            return _cut(history, model, grid, buffer, senders)
    raise RuntimeError(f"no {model} trace could be made from seed {seed}")


def mixed(random: Random, steps: int) -> list[Fraction]:
    """Return the rates of a sender of a randomly drawn kind: bursts, pauses, steps, or a steady rate.

    Parameters
    ----------
    random : Random, the source of the draw
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
    """Return the last points as a trace, relative to the service and the losses at the first of these points."""
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
