"""Questions whether beliefs are sound: for each bound, whether a trace of a network model violates the bound.

A belief is a bound on the network that a flow infers from what it observes. It is sound on a model if it is true in
each trace of the model. As in the thesis (sections 4.1.1.1 and A.2), the flow sends arbitrarily, and its beliefs are
true of the network at t = 0. The claim is that the beliefs are true at the last point. Controls are claims that a
solver must refute.

Symbols: C, link rate; D, maximum jitter; C_L and C_U, bounds on C; C_L_lambda, a lower bound on C for links of constant
rate; beta_L and beta_U, bounds on the size beta of the buffer.

A trace is the behavior of a network and its flows: the value of each curve at each sample point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.beliefs import Resolution, Start, cbr_delay, ccac
from fairweir.formal.beliefs import buffer as buffer_size
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Bit, System
from fairweir.formal.models import MODELS, NETWORKS


@dataclass(frozen=True)
class Bound:
    """A claim that a belief is true, and the system (variables and constraints) for which it is claimed.

    Attributes
    ----------
    name : str, names of the model, the buffer and the belief
    claim : str, the claim as text
    system : System
    holds : the claim as a condition for solvers
    is_sound : bool, whether the claim must hold; false for controls
    """

    name: str
    claim: str
    system: System
    holds: Bit
    is_sound: bool = True


def bounds(grid: Grid) -> Iterator[Bound]:
    """Yield the claims of all families of beliefs, for each model and buffer on which the family is sound."""
    for name in FAMILIES:
        yield from bounds_of(name, grid)


def bounds_of(name: str, grid: Grid) -> Iterator[Bound]:
    """Yield the claims of one family of beliefs, for each model and buffer on which the family is sound.

    Parameters
    ----------
    name : str, a name in `FAMILIES`
    grid : Grid, the sample points of the traces
    """
    family = FAMILIES[name]
    for model, network in NETWORKS.items():
        for variant in family.variants:
            for buffer in (one for one in Buffer if family.is_sound_on(network, one)):
                system = MODELS[model].build(grid, buffer)
                for needed in family.needs:
                    FAMILIES[needed].attach(system)
                family.attach(system, terms=variant.terms)
                for claim, holds in family.claims.items():
                    yield Bound(f"{model} {buffer}{variant.words}: {claim}", claim, system, holds(system, grid.last))


def controls(grid: Grid) -> Iterator[Bound]:
    """Yield controls: bounds that are slightly too tight, or claimed for a model on which the bounds are not true."""
    last, step, jitter = grid.last, grid.step, grid.d_steps

    def control(name: str, claim: str, system: System, holds: Bit) -> Bound:
        return Bound(f"control: {name}", claim, system, holds, is_sound=False)

    plain = MODELS["ccac"].build(grid, Buffer.INFINITE)
    served = plain.S[last] - plain.S[0]
    yield control("C_L without D", "S(T) - S(0) <= C T", plain, served <= last * step)
    busy = ccac.busy_runs(plain, 0)[last][0]
    yield control("C_U without D", "busy: S(T) - S(0) >= C T", plain, z3.Implies(busy, served >= last * step))
    seen = [plain.flows[0].delay[t][max(1, jitter)] for t in range(1, grid.points)]
    least = served >= (last - jitter) * step
    yield control(
        "C_U from delays of D", "delays >= D: S(T) - S(0) >= C (T - D)", plain, z3.Implies(z3.And(*seen), least)
    )
    grown = [z3.Implies(plain.flows[0].delay[t][k + 1], plain.flows[0].delay[t - 1][k]) for t, k in _pairs(grid)]
    yield control("steady acknowledgements", "the delay seen grows by a step per step at most", plain, z3.And(*grown))
    stale = MODELS["ccac"].build(grid, Buffer.INFINITE)
    ccac.attach(stale, start=Start.ANY)
    yield control("stale at first", "C_L <= C", stale, FAMILIES["ccac"].claims["C_L <= C"](stale, last))
    wider = MODELS["ccac"].build(grid, Buffer.ARBITRARY)
    cbr_delay.attach(wider)
    yield control("C_L_lambda on CCAC", "C_L_lambda <= C", wider, wider.flows[0].beliefs["C_L_lambda"][last] <= 1)
    lossy = believing("ccac", grid, Buffer.ARBITRARY)
    known = buffer_size.known_queue(lossy, last)
    yield control("beta_L without D", "A - L - S <= beta", lossy, known <= lossy.beta)
    less = known - lossy.flows[0].beliefs["C_L"][last] * jitter * step
    yield control("beta_L with C_L for C_U", "A - L - S - C_L D <= beta", lossy, less <= lossy.beta)
    loss = buffer_size.shows_overflow(lossy, last)
    full = z3.Implies(loss, lossy.beta <= less)
    yield control("beta_U less C_L D", "at a loss: beta <= A - L - S - C_L D", lossy, full)
    yield control("beta_U without a loss", "beta <= A - L - S", lossy, lossy.beta <= known)


@words_for_enums
def believing(model: str, grid: Grid, buffer: Buffer, resolution: Resolution | None = None) -> System:
    """Return a system of a model with one flow that has beliefs: C_L_lambda and q_U if a resolution is given, otherwise
    C_L and C_U.

    Parameters
    ----------
    model : str, a name in `MODELS`
    grid : Grid
    buffer : Buffer
    resolution : Resolution, the precision with which the flow knows delays; None: the beliefs are C_L and C_U
    """
    system = MODELS[model].build(grid, buffer)
    if resolution is None:
        ccac.attach(system)
    else:
        cbr_delay.attach(system, resolution=resolution)
    return system


def _pairs(grid: Grid) -> list[tuple[int, int]]:
    return [(t, k) for t in range(1, grid.points) for k in range(1, grid.points)]
