"""Check random traces against the network model's definition, its encoding, and its beliefs."""

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
    """A violation in a random trace.

    Attributes
    ----------
    seed : int, from which the trace can be regenerated
    text : str, the violation
    trace : Trace
    """

    seed: int
    text: str
    trace: Trace


@dataclass(frozen=True)
class Trial:
    """Result for random traces of one system.

    Attributes
    ----------
    traces : int, number of traces
    pauses : int, number of traces in which acknowledgments pause: the observed delay grows by more than a step per step
    findings : violations; empty if there are none
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
    buffer : Buffer, the model's
    """
    return tuple(name for name, family in FAMILIES.items() if family.is_sound_on(MODELS[model], buffer))


def try_out(system: System, seeds: Sequence[int]) -> Trial:
    """Generate a trace from each seed, and check it against the model's definition, the encoding, and its beliefs.

    Parameters
    ----------
    system : System, of one or several flows. A single flow has the beliefs of `families_of`, with default terms
    seeds : one per trace
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
    """Generate a random trace, with beliefs if it has one flow and that flow's sender never pauses.

    Parameters
    ----------
    model : str, a name in `MODELS` that has random traces
    grid : Grid
    buffer : Buffer
    seed : int; the same seed generates the same trace
    senders : kind of sender for each flow, which constrains its arrivals
    """
    trace = sample(model, grid, buffer, seed, senders=senders)
    if len(senders) > 1 or senders[0] is not Sender.RATE:
        return trace
    random = Random(seed)  # noqa: S311 - not for secrets
    for family in families_of(model, buffer):
        trace = believe(trace, 0, family, Terms(), first_values(trace, family, Terms(), random))
    return trace


def inconsistencies(trace: Trace) -> list[str]:
    """Return the points at which a flow's beliefs exclude the network, although the initial beliefs include it."""
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
