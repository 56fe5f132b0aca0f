"""Search for the tightest constant of a lemma, such as the highest utilization that solvers can prove.

The search tries values on a grid. A lemma with a stronger value must imply the lemma with each weaker value. The
weakest and the strongest value are tried first. Then the interval between the strongest proved and the weakest refuted
value is bisected, or divided into n + 1 parts if n values are tried at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairweir.formal.lemmas.inquiry import Ask, Inquiry, answer_jobs, made_by, weakest_check
from fairweir.formal.lemmas.result import About, Constant, LemmaResult
from fairweir.formal.lemmas.steps import without_places
from fairweir.formal.lemmas.suites import OnProgress, Progress, Request
from fairweir.formal.solving.solve import ProofOutcome


@dataclass(frozen=True)
class Found:
    """Result of a search.

    Attributes
    ----------
    proved : the strongest value that was proved; None if no value was proved
    refuted : the weakest value that was refuted; None if no value was refuted
    """

    proved: Fraction | None
    refuted: Fraction | None

    @property
    def is_tight(self) -> bool:
        """Whether at least one value was proved and at least one value was refuted."""
        return self.proved is not None and self.refuted is not None


def bisection(
    weakest: Fraction, strongest: Fraction, step: Fraction, at_once: int = 1
) -> Generator[list[Fraction], list[ProofOutcome], Found]:
    """Yield the values to try next, receive their outcomes, and return the result of the search.

    Parameters
    ----------
    weakest, strongest : ends of the grid; `weakest` may be larger or smaller than `strongest`
    step : spacing of the grid, positive
    at_once : number of values tried at a time

    Returns
    -------
    Found : if the outcome at a value is unknown, the search continues with weaker values
    """
    count = int(abs(strongest - weakest) / step)
    sign = 1 if strongest >= weakest else -1
    values = [weakest + sign * step * i for i in range(count + 1)]
    proved, refuted = -1, count + 1
    unknown: set[int] = set()
    asked: list[int] = sorted({0, count})
    while asked:
        outcomes = yield [values[i] for i in asked]
        for i, outcome in zip(asked, outcomes, strict=True):
            if outcome is ProofOutcome.PROVED:
                proved = max(proved, i)
            elif outcome is ProofOutcome.REFUTED:
                refuted = min(refuted, i)
            else:
                unknown.add(i)
        asked = _cuts(proved, min([refuted, *(i for i in unknown if i > proved)]), at_once)
    return Found(values[proved] if proved >= 0 else None, values[refuted] if refuted <= count else None)


def _cuts(low: int, high: int, parts: int) -> list[int]:
    """Return at most `parts` + 1 indices between `low` and `high`, evenly spaced, with the middle index among them."""
    if low < 0 or high - low <= 1:
        return []
    return sorted(
        {low + (high - low) * i // (parts + 1) for i in range(1, parts + 1)} - {low} | {low + (high - low) // 2}
    )


@dataclass(frozen=True)
class Sought:
    """A constant of a lemma, and the grid of values among which the search is for the tightest.

    Attributes
    ----------
    name, unit : str, name and unit of the constant
    lemma : function from a value of the constant to the lemma with this value
    weakest, strongest, step : as in :func:`best`
    published : the published value; None if there is none
    """

    name: str
    unit: str
    lemma: Callable[[Fraction], Inquiry]
    weakest: Fraction
    strongest: Fraction
    step: Fraction
    published: Fraction | None = None


class _Search:
    """The search for one constant: its next values, the answers so far, and at the end what was found."""

    def __init__(self, sought: Sought) -> None:
        self.sought = sought
        self.spent: list[LemmaResult] = []
        self.found: Found | None = None
        self._steps = bisection(sought.weakest, sought.strongest, sought.step)
        self.values = next(self._steps)

    def go_on(self, results: Sequence[LemmaResult]) -> None:
        """Receive the results of the values, and set the next values, or at the end `found`."""
        self.spent += results
        try:
            self.values = self._steps.send([result.outcome for result in results])
        except StopIteration as end:
            self.values, self.found = [], end.value


def seek_all(
    make: Callable[[Request], Sequence[Sought]], request: Request, on_progress: OnProgress
) -> list[LemmaResult]:
    """Search for the tightest value of each constant, and return one result per constant.

    All searches advance together: the questions of a round, at most two per constant, are independent jobs.

    Parameters
    ----------
    make : function of a module that returns the constants of a request
    request : Request
    on_progress : called before each round, and with the result of each constant
    """
    bare = without_places(request)
    searches = [_Search(sought) for sought in made_by(make, bare)]
    results: dict[int, LemmaResult] = {}
    while len(results) < len(searches):
        asked = [(i, value) for i, search in enumerate(searches) for value in search.values]
        names = ", ".join(dict.fromkeys(searches[i].sought.name for i, _ in asked))
        on_progress(Progress(names, len(results), len(searches)), None)
        jobs = [Ask(make, bare, i, value) for i, value in asked]
        answered = answer_jobs(jobs, request)
        for i in dict.fromkeys(i for i, _ in asked):
            search = searches[i]
            search.go_on([answered[k] for k, (j, _) in enumerate(asked) if j == i])
            if search.found is not None:
                results[i] = _result(search.sought, search.found, search.spent)
                on_progress(Progress(search.sought.name, len(results), len(searches), i), results[i])
    return [results[i] for i in range(len(searches))]


def _result(sought: Sought, found: Found, spent: Sequence[LemmaResult]) -> LemmaResult:
    """Return the result of a search: ``proved`` if a value was proved; the note has the weakest refuted value."""
    cpu_s = sum(result.cpu_s for result in spent)
    solvers = ", ".join(sorted({result.solver for result in spent if result.solver}))
    refuted = "nothing" if found.refuted is None else f"{float(found.refuted):g}"
    note = f"refuted from {refuted} on; {len(spent)} questions"
    how = weakest_check(spent)
    if found.proved is None:
        outcome = ProofOutcome.REFUTED if found.refuted == sought.weakest else ProofOutcome.UNKNOWN
        return LemmaResult(
            sought.name, "no value proved", outcome, solver=solvers, cpu_s=cpu_s, note=note, about=About.CCA
        )
    constant = Constant(sought.name, found.proved, sought.published, sought.unit)
    claim = f"best value {float(found.proved):g} {sought.unit}".rstrip()
    return LemmaResult(
        sought.name,
        claim,
        ProofOutcome.PROVED,
        constants=(constant,),
        solver=solvers,
        cpu_s=cpu_s,
        note=note,
        about=About.CCA,
        kept=how,
    )
