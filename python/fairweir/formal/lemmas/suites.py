"""The suites of ``fairweir prove``: each suite is a set of lemmas that together imply a result about a CCA.

A lemma is a claim about all traces of a CCA on a network model, which solvers prove or refute. A trace lists the
quantities of a flow and its link at equally spaced points in time. Each suite is a function ``run(request, on_progress)
-> list[LemmaResult]``, in a module that is imported only when the suite runs. To add a suite, write this function and
add an entry to `_ALL`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.formal.lemmas.result import LemmaResult
from fairweir.play.pool import Where


@dataclass(frozen=True)
class Request:
    """Parameters of the run of a suite.

    Attributes
    ----------
    points : int, number of sample points in a trace; None: the suite's default
    budget_s : float, CPU seconds for each lemma; without an answer in this time, the outcome is ``unknown``
    search : bool, True: search for the tightest constants of the lemmas; False: check the known constants
    certificate : bool, write, if possible, each proof as a file that a small program can check without a solver
    out : Path, folder for answers, traces and certificates; None: store nothing
    model : str, the network model, one of `Suite.models`; None: the suite's default
    workers : where the lemmas are settled: a number of processes, 1: this process, None: one process per core; or a
        :class:`fairweir.Cluster`. The results and their order do not depend on it
    """

    points: int | None = None
    budget_s: float = 120.0
    search: bool = False
    certificate: bool = False
    out: Path | None = None
    model: str | None = None
    workers: Where = 1


@dataclass(frozen=True)
class Progress:
    """Progress of a suite.

    Attributes
    ----------
    doing : str, the current lemma
    done, total : number of finished lemmas, and of all lemmas
    place : int, index of the current lemma in the list of results, if its result is reported
    """

    doing: str
    done: int
    total: int
    place: int = 0


#: Function that is called after each lemma with its result, and with None before each lemma that this process settles.
OnProgress = Callable[[Progress, LemmaResult | None], None]
Run = Callable[[Request, OnProgress], list[LemmaResult]]


@dataclass(frozen=True)
class Suite:
    """Name, description and function of a suite.

    Attributes
    ----------
    name : str
    shows : str, the result that the lemmas imply
    source : str, the publication
    where : str, the suite's function as "module:function"
    reads : the fields of :class:`Request` that the suite uses, in addition to `budget_s`, `out` and `model`
    models : the network models for which the suite can run, the default first; empty if the model cannot be chosen
    """

    name: str
    shows: str
    source: str
    where: str
    reads: frozenset[str] = frozenset({"points", "certificate"})
    models: tuple[str, ...] = ()

    def load(self) -> Run:
        """Import and return the suite's function."""
        module, _, function = self.where.partition(":")
        run: Run = getattr(importlib.import_module(module), function)
        return run


_HERE = "fairweir.formal.lemmas"
#: Models with jitter. The lemmas' constants are for a maximum jitter D of one round-trip propagation delay R, so the
#: ideal link, which has no jitter, is not among the models.
_JITTERY = ("ccac", "ccac-published", "cbr-delay", "cbr-delay-published")

_ALL: tuple[Suite, ...] = (
    Suite(
        "beliefs",
        "no trace of a model leaves C_L, C_U, C_L_lambda or q_U: by solver, and on 10,000 random traces a model",
        "thesis 4.1.1.1, 4.2.2.1, A.2",
        f"{_HERE}.beliefs:run",
        frozenset({"points"}),
    ),
    Suite(
        "cc_qdel",
        "cc_qdel on CCAC, buffer >= 3 C(R+D): beliefs recover and converge, the queue drains, bounds then hold",
        "thesis 4.2.3, B.4",
        f"{_HERE}.cc_qdel:run",
        frozenset({"points", "search", "certificate"}),
        _JITTERY,
    ),
    Suite(
        "cc_probe_slow",
        "cc_probe_slow on CBR-delay: the bound on the rate rises additively; losses stay within packets",
        "thesis 4.2.3",
        f"{_HERE}.cc_probe_slow:run",
        models=("cbr-delay", "cbr-delay-published"),
    ),
    Suite(
        "aimd",
        "AIMD on CCAC, buffers up to 4 BDP: window and losses in flight return to a bound and stay",
        "CCAC section 5",
        f"{_HERE}.aimd:run",
        models=_JITTERY,
    ),
    Suite(
        "copa",
        "a Copa-like algorithm on CCAC: window and queue return to a bound and stay; utilization does not",
        "CCAC section 6",
        f"{_HERE}.copa:run",
        models=_JITTERY,
    ),
    Suite(
        "starvation",
        "two flows on one queue: AIMD and the exponential curve bounded, a Vegas-like algorithm starved by jitter",
        "starvation paper 5.4, 6.3, C",
        f"{_HERE}.starvation:run",
    ),
    Suite(
        "frcc",
        "FRCC: fair on the ideal link, bounded throughput ratio of two flows on the jittery one; faults, corrections",
        "thesis 7.5.2-7.5.4, D.3",
        "fairweir.formal.frcc.suite:run",
        frozenset(),
    ),
    Suite(
        "frcc-main",
        "FRCC's main cwnd update on the jittery link, 2 flows, R/theta up to 20: bounded throughput ratio; controls",
        "beyond thesis 7.5.3 (assumption 6), D.3.4",
        "fairweir.formal.frcc.main.suite:two_flows",
        frozenset({"search", "certificate"}),
    ),
    Suite(
        "frcc-main-3",
        "the same for 3 flows, R/theta from 0.5 to 4",
        "beyond thesis 7.5.3 (assumption 6, N_G = 2), D.3.4",
        "fairweir.formal.frcc.main.suite:three_flows",
        frozenset({"search", "certificate"}),
    ),
)

#: Suites by name, in the order of ``fairweir prove --list``.
SUITES: dict[str, Suite] = {suite.name: suite for suite in _ALL}


def find(name: str) -> Suite:
    """Return the suite named `name`.

    Raises
    ------
    ConfigError : no suite has this name
    """
    if name in SUITES:
        return SUITES[name]
    raise ConfigError(f"no suite of lemmas has that name: `{name}`", hint=did_you_mean(name, SUITES))
