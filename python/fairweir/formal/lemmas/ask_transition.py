"""Convert a transition between states, or a bound that holds throughout a window of time, into a question for solvers.

A system is the set of constraints that all traces of a CCA on a network model satisfy. A question is: does each of
these traces satisfy the claim? A trace covers one window of time.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System
from fairweir.formal.lemmas.inquiry import Inquiry
from fairweir.formal.lemmas.result import About, Constant, ProofOutcome
from fairweir.formal.lemmas.states import Better, Factor, Measure, State, Transition
from fairweir.formal.lemmas.view import snapshot

_MET = z3.BoolVal(True)


def inquire(
    system: System,
    transition: Transition,
    *constants: Constant,
    objectives: z3.BoolRef = _MET,
    assumed: tuple[z3.BoolRef, ...] = (),
    name: str = "",
    expects: ProofOutcome = ProofOutcome.PROVED,
    note: str = "",
) -> Inquiry:
    """Return the question whether all traces of a system satisfy a transition.

    Parameters
    ----------
    system : System
    transition : the claim about the first and the last point of each trace
    constants : numbers in the claim, for the table of results
    objectives : formula that is true if a trace meets the objectives on utilization, queue and losses
    assumed : assumptions about the trace, in addition to the transition's start state
    name : name of the lemma; empty: the transition's name
    expects, note : as in :class:`fairweir.formal.lemmas.result.LemmaResult`
    """
    before, after = snapshot(system, 0), snapshot(system, system.grid.last)
    claim = f"{transition.start.name} ⟹ {_says(transition)}"
    given = (*assumed, transition.start.holds(before))
    then = transition.claim(before, after, objectives)
    return Inquiry(name or transition.name, claim, system, given, then, expects, constants, note, transition.about)


def inquire_bound(
    system: System,
    name: str,
    start: State,
    words: str,
    bound: z3.BoolRef,
    *constants: Constant,
    assumed: tuple[z3.BoolRef, ...] = (),
    expects: ProofOutcome = ProofOutcome.PROVED,
    note: str = "",
    about: About = About.CCA,
) -> Inquiry:
    """Return the question whether `bound` (in words: `words`) holds in all traces that begin in state `start`."""
    given = (*assumed, start.holds(snapshot(system, 0)))
    return Inquiry(name, f"{start.name} ⟹ {words}", system, given, bound, expects, constants, note, about)


def _says(transition: Transition) -> str:
    ways = [state.name for state in transition.ends]
    if transition.progress is not None:
        ways.append(" or ".join(_step(measure) for measure in transition.progress.measures))
    if transition.or_met:
        ways.append("objectives, no progress lost" if transition.loses_none else "objectives")
    always = [state.name for state in transition.keeps] + (["objectives"] if transition.meets else [])
    return "; ".join(filter(None, [", ".join(always), " or ".join(ways)]))


def _step(measure: Measure) -> str:
    sign = {Better.UP: ("x", "+"), Better.DOWN: ("/", "-")}[measure.better]
    if isinstance(measure.step, Factor):
        return f"{measure.name} {sign[0]}{float(measure.step.by):g}"
    return f"{measure.name} {sign[1]}{measure.step.name}"
