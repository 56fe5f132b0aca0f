"""Check random traces against a network model's definition, the model's encoding for solvers, and the flow's beliefs.

A trace lists the quantities of each flow and of the link (bytes sent, served and lost, ...) at equally spaced points in
time. A belief is a bound on a parameter of the network that a flow computes from what the flow observed. A family is a
set of beliefs that are computed together. The definition evaluates a trace in exact fractions; the encoding is a set of
constraints for solvers. Each random trace must satisfy the definition and the encoding, and no belief may exclude the
true network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.beliefs.choices import Terms
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.evaluate import Evaluator, assignment
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.senders import Sender
from fairweir.formal.encoding.system import System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.believe import believe, first_values, is_consistent
from fairweir.formal.exact.judge import violations
from fairweir.formal.exact.sample import sample
from fairweir.formal.models import MODELS


@dataclass(frozen=True)
class Finding:
    """An error that a random trace showed.

    Attributes
    ----------
    seed : int, the seed from which the trace can be generated again
    text : str, the equation, constraint or belief that is violated
    trace : Trace
    """

    seed: int
    text: str
    trace: Trace


@dataclass(frozen=True)
class Trial:
    """Result of checking the random traces of one system.

    Attributes
    ----------
    traces : int, number of traces
    pauses : int, number of traces in which acknowledgments pause: from one point to the next, the observed delay grows
        by more than the time between the points
    findings : errors; empty if no trace showed an error
    """

    traces: int
    pauses: int
    findings: tuple[Finding, ...]


@words_for_enums
def families_of(model: str, buffer: Buffer) -> tuple[str, ...]:
    """Return the families of beliefs that are sound on a model, in an order in which they can be attached.

    Parameters
    ----------
    model : str, a name in `MODELS`
    buffer : Buffer, the kind of buffer in the model
    """
    return tuple(name for name, family in FAMILIES.items() if family.is_sound_on(MODELS[model], buffer))


def try_out(system: System, seeds: Sequence[int]) -> Trial:
    """Generate a trace from each seed, and check each trace as the module's description defines.

    Parameters
    ----------
    system : System, of one or several flows. A single rate-limited flow must have the beliefs of `families_of`
    seeds : one seed per trace
    """
    evaluator = Evaluator(system.groups)
    findings, pauses = [], 0
    for seed in seeds:
        trace = make(system.model, system.grid, system.buffer, seed, [flow.sender for flow in system.flows])
        pauses += any(_pauses(flow.delay) for flow in trace.flows)
        wrong = [str(violation) for violation in violations(trace)]
        wrong += [f"the encoding excludes it: {text}" for text in evaluator.broken(assignment(system, trace))]
        wrong += inconsistencies(trace)
        findings += [Finding(seed, text, trace) for text in wrong]
    return Trial(len(seeds), pauses, tuple(findings))


@words_for_enums
def make(model: str, grid: Grid, buffer: Buffer, seed: int, senders: Sequence[Sender]) -> Trace:
    """Generate a random trace; the trace has beliefs if there is one flow and its sender is limited only by its rate.

    Parameters
    ----------
    model : str, name in `MODELS` of a model for which random traces can be generated
    grid : Grid, the number of sample points, their spacing, and the maximum jitter
    buffer : Buffer
    seed : int; the same seed generates the same trace
    senders : for each flow, whether cwnd, a rate, or both limit the sender
    """
    trace = sample(model, grid, buffer, seed, senders=senders)
    if len(senders) > 1 or senders[0] is not Sender.RATE:
        return trace
    random = Random(seed)  # noqa: S311 - not for secrets
    for family in families_of(model, buffer):
        trace = believe(trace, 0, family, Terms(), first_values(trace, family, Terms(), random))
    return trace


def inconsistencies(trace: Trace) -> list[str]:
    """Return one message for each point at which a flow's beliefs exclude the true network."""
    out = []
    for i, flow in enumerate(trace.flows):
        for family, terms in flow.attached.items():
            columns = {name: flow.beliefs[name] for name in FAMILIES[family].names}
            for t in range(trace.grid.points):
                values = {name: column[t] for name, column in columns.items()}
                if not is_consistent(trace, family, terms, values, t):
                    shown = ", ".join(f"{name} = {value}" for name, value in values.items())
                    out.append(f"beliefs of flow {i} at t = {t} exclude the network: {shown}")
    return out


def _pauses(delay: Sequence[int]) -> bool:
    return any(delay[t] > delay[t - 1] + 1 for t in range(1, len(delay)))
