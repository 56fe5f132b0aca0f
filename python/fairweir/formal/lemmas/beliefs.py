"""``fairweir prove beliefs``: check that a sender's beliefs never exclude the true network.

A belief is a bound on a parameter or on the state of the network that a sender computes from what the sender observed,
such as C_U, the upper bound on the link rate C. A belief excludes the network if the true value violates the bound.
Solvers check the beliefs for all traces, and an exact evaluator checks them on random traces.
Symbols: R, round-trip propagation delay; D, maximum jitter. A trace lists all quantities of a flow and of the link at
equally spaced points in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from resource import RUSAGE_SELF, getrusage
from typing import Any

from fairweir.formal.beliefs import sampled, soundness
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.beliefs.soundness import Bound
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.senders import Sender
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.lemmas.result import About, LemmaResult
from fairweir.formal.lemmas.steps import Step, as_it_is, settle_all
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.trial import Trial, families_of, try_out
from fairweir.formal.models import MODELS, NETWORKS
from fairweir.formal.solving.solve import ProofOutcome, Question, ask
from fairweir.formal.solving.solvers import Budget

#: Default number of points in a trace. C_U is computed from intervals longer than D, and a sender knows the result of a
#: probe (a short increase of the rate) after 2 R, so shorter traces would check little.
POINTS = 7
#: Random traces per network model and kind of buffer. There are four kinds of buffer, so 10,000 traces per model.
TRACES = 2500
#: Random traces for each combination of senders in `_TOGETHER`.
TRACES_TOGETHER = 500


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Check each belief with one and with two steps per R, then false claims (controls), then random traces.

    Raises
    ------
    SolverError : a solver is missing, or two contradict each other
    """
    points = request.points or POINTS
    steps = [*steps_by_solver(points, request.budget_s), *_by_random_traces(points)]
    return settle_all(steps, request, on_progress, len(steps))


def settle(bound: Bound, budget_s: float) -> LemmaResult:
    """Ask the solvers whether a belief is sound.

    A refutation counts only if the solver's trace satisfies the network model when it is evaluated in exact fractions.
    """
    system = bound.system
    answer = ask(Question(bound.name, system.assertions(), bound.holds), Budget(cpu_s=budget_s))
    outcome, note = answer.outcome, answer.reason
    if outcome is ProofOutcome.REFUTED:
        wrong = violations(Trace.from_values(system, answer.values))
        note = "its trace replays exactly"
        if wrong:
            outcome, note = ProofOutcome.UNKNOWN, f"the solver's trace does not replay: {wrong[0]}"
    expects = ProofOutcome.PROVED if bound.is_sound else ProofOutcome.REFUTED
    return LemmaResult(
        bound.name, bound.claim, outcome, expects, (), answer.solver, answer.cpu_s, note, about=About.NETWORK
    )


@dataclass(frozen=True)
class _Prove:
    """The job that asks the solvers about one bound.

    Attributes
    ----------
    make : function that yields bounds, and its arguments
    index : int, index of the bound among them
    """

    make: Callable[..., Iterator[Bound]]
    arguments: tuple[Any, ...]
    index: int
    name: str
    budget_s: float

    def __call__(self) -> LemmaResult:
        """Return the result."""
        bound = _made(self.make, *self.arguments)[self.index]
        return settle(replace(bound, name=self.name), self.budget_s)


@lru_cache(maxsize=2)
def _made(make: Callable[..., Iterator[Bound]], *arguments: Any) -> list[Bound]:
    """Return the bounds that `make` yields; neighboring jobs of a process share their encodings."""
    return list(make(*arguments))


def steps_by_solver(points: int, budget_s: float) -> Iterator[Step]:
    """Yield the steps that solvers settle: beliefs, with one and with two steps per R, and then controls."""
    makers: list[tuple[str, Callable[..., Iterator[Bound]], tuple[Any, ...]]] = []
    for grid in (Grid(points), Grid(points, per_r=2)):
        suffix = "" if grid.per_r == 1 else " (2 steps per R)"
        makers += [(suffix, soundness.bounds_of, (family, grid)) for family in FAMILIES]
    makers += [("", sampled.bounds, (points, per_r)) for per_r in (2, 4)]
    makers.append(("", soundness.controls, (Grid(points),)))
    for suffix, make, arguments in makers:
        for index, bound in enumerate(make(*arguments)):
            name = bound.name + suffix
            yield Step(name, _Prove(make, arguments, index, name, budget_s), as_it_is)


#: Combinations of senders whose random traces are checked without beliefs. A window-limited sender may pause, and flows
#: that share a link each observe only a part of the rate; in both cases beliefs would be wrong.
_TOGETHER: tuple[tuple[Sender, ...], ...] = (
    (Sender.WINDOW,),
    (Sender.RATE, Sender.RATE),
    (Sender.WINDOW, Sender.PACED_WINDOW),
)


def _by_random_traces(points: int) -> Iterator[Step]:
    for model in NETWORKS:
        for buffer in Buffer:
            yield _random(model, Grid(points), buffer, (Sender.RATE,), TRACES)
        yield _random(model, Grid(points, per_r=2), Buffer.ARBITRARY, (Sender.RATE,), TRACES_TOGETHER)
        for senders in _TOGETHER:
            yield _random(model, Grid(points), Buffer.ARBITRARY, senders, TRACES_TOGETHER)


def _random(model: str, grid: Grid, buffer: Buffer, senders: Sequence[Sender], traces: int) -> Step:
    flows = "" if senders == (Sender.RATE,) else f", flows by {' and '.join(senders)}"
    steps = "" if grid.per_r == 1 else f", {grid.per_r} steps per R"
    name = f"{traces} random traces: {model} {buffer}{steps}{flows}"

    return Step(name, partial(_played, name, model, grid, buffer, tuple(senders), traces), as_it_is)


def _played(name: str, model: str, grid: Grid, buffer: Buffer, senders: tuple[Sender, ...], traces: int) -> LemmaResult:
    begun = getrusage(RUSAGE_SELF).ru_utime
    system = MODELS[model].build(grid, buffer, senders)
    if len(senders) == 1 and senders[0] is Sender.RATE:
        for family in families_of(model, buffer):
            FAMILIES[family].attach(system)
    trial = try_out(system, range(traces))
    return _of_trial(name, trial, getrusage(RUSAGE_SELF).ru_utime - begun)


def _of_trial(name: str, trial: Trial, cpu_s: float) -> LemmaResult:
    claim = "each satisfies the model and its encoding, and its beliefs"
    outcome = ProofOutcome.REFUTED if trial.findings else ProofOutcome.PROVED
    note = f"acknowledgements pause in {trial.pauses}" if trial.pauses else ""
    if trial.findings:
        first = trial.findings[0]
        note = f"{len(trial.findings)} findings, the first with seed {first.seed}: {first.text}"
    return LemmaResult(name, claim, outcome, solver="exact fractions", cpu_s=cpu_s, note=note, about=About.NETWORK)
