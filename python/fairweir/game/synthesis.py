"""Synthesize a controller: from a query to a decision tree with proofs.

A search computes a value for each action, on the worst link that explains the sender's observations. These values are
the *labels* of a *situation*, the input of a decision. A *session* is a closed-loop run on a random link. A tree has a
*tie* in a leaf if several actions are almost equally good in the leaf's situations. The stages are: sample situations,
label them by search, fit trees, label the situations that the trees reach, choose a tree, prove claims about it.

Labels, fits and sessions are deterministic: a query gives the same tree with any number of threads. Finished labels are
stored, so that an interrupted synthesis can resume.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairweir import _core
from fairweir.ccas.controller_file import Condition, Controller, with_proofs
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, SolverName
from fairweir.game.closed_loop import Comparison, Score, compare, leaf_visits, score
from fairweir.game.distil import Regrets, Tree, candidates, fit, last_components, regrets
from fairweir.game.export import controller_document, controller_text
from fairweir.game.labels import FOLDER, Labels
from fairweir.game.proofs import LeafVerdict, Prover
from fairweir.game.query import GameQuery
from fairweir.game.sampling import Labelled, label_store, sessions
from fairweir.game.ties import decide_ties

if TYPE_CHECKING:
    from fairweir.play.cluster import Cluster

#: Offsets of the query's seed: for held-out situations, and for the sessions by which a tree is chosen, by which its
#: ties are resolved, and by which it is compared with the search.
HELD_OUT: Final = 501
CHOOSING: Final = 701
TYING: Final = 801
JUDGING: Final = 901
#: Number of ranges of tree size. For the best tree of each range, closed-loop runs decide between equally good
#: templates (``ties.py``), because in a larger tree more leaves can be improved.
FINALISTS: Final = 3
#: Margin by which the fraction of decisions without regret must exceed the required fraction when ties are resolved.
#: Ties are resolved on other situations than the held-out ones, for which the required fraction applies.
FREE_MARGIN: Final = 0.002
#: In sessions of a fitted tree, one of this number of sessions is held out from training.
HELD_OUT_PART: Final = 5

#: Quantities measured in closed-loop runs, with their descriptions.
QUANTITIES: Final = {
    "goodput": "goodput over capacity",
    "frames": "batches received in time per step",
    "queue": "mean queue, steps of capacity",
    "lost": "packets lost",
}

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Candidate:
    """A fitted tree with its results.

    Attributes
    ----------
    name : str, the options with which it was fitted
    free : fraction of held-out situations in which its decision has no regret (another action is better at most in the
        last component of the objective)
    closed : its results compared with the search's, in the sessions by which a tree is chosen
    merit : number by which trees are compared: merit in closed loop minus the price of the leaves
    """

    name: str
    tree: Tree
    free: float
    closed: Comparison
    merit: float


@dataclass(frozen=True)
class Synthesis:
    """The result of a synthesis.

    Attributes
    ----------
    candidates : all trees that were compared, in the order in which they were fitted
    chosen : the candidate with the highest merit among those that agree with the search often enough
    judged, search : results of the chosen tree and of the search in sessions that were not used for the choice
    labelled : number of situations by source
    document : the controller file
    visits : number of times that the chosen tree reached each leaf in these sessions, by the index of the leaf's node
    verdicts : one for each claim about each leaf
    """

    query: GameQuery
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    judged: Score
    search: Score
    labelled: dict[str, int]
    document: dict[str, Any]
    visits: dict[int, int] = field(repr=False, default_factory=dict)
    verdicts: tuple[LeafVerdict, ...] = field(repr=False, default=())

    @property
    def closed(self) -> Comparison:
        """The chosen tree's results compared with the search's, in sessions that were not used for the choice."""
        return compare(self.judged, self.search)

    @cached_property
    def paths(self) -> dict[int, tuple[Condition, ...]]:
        """The conditions on the path to each leaf, by the index of the leaf's node."""
        return {index: path for index, _, path in Controller.parse(controller_text(self.document)).leaves}

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of verdicts by outcome."""
        return dict(Counter(verdict.outcome.value for verdict in self.verdicts))

    @property
    def is_proved(self) -> bool:
        """Whether every claim of every leaf is proved."""
        return set(self.outcomes) == {"proved"}


@dataclass(frozen=True)
class Workshop:
    """The settings of a synthesis, and its stages.

    Attributes
    ----------
    directory : Path of the directory for labels, controller file and report
    workers : number of threads for searches and closed loops; or the cluster for searches
    report : called with the name of a stage, the number of its finished items and the number of its items
    budget : budget of each solver for one question
    solvers : solvers in the order in which they are asked
    """

    query: GameQuery
    directory: Path
    workers: int | Cluster
    report: Report
    budget: Budget = field(default_factory=lambda: Budget(20.0))
    solvers: Sequence[SolverName] = ALL_SOLVERS

    def synthesise(self) -> Synthesis:
        """Run all stages, and return the result.

        Raises
        ------
        ConfigError : the directory belongs to another query
        KeyboardInterrupt : the user pressed Ctrl-C; finished labels are stored
        """
        self._begin()
        query, sampling = self.query, self.query.sampling
        parts = {"search": self._labelled("search", None, sampling.sessions, sampling.seed)}
        if sampling.boxes:
            parts["random"] = self._kept("random", self._labels.of_boxes, sampling.boxes, sampling.seed)
        held_out = self._labelled(
            "held-out", None, max(2, sampling.sessions // HELD_OUT_PART), sampling.seed + HELD_OUT
        )
        for number in range(1, sampling.rounds + 1):
            tree = self._quick(Labelled.join(list(parts.values())))
            count, seed = sampling.sessions_per_round, sampling.seed + number
            parts[f"round-{number}"] = self._labelled(f"round-{number}", tree, count, seed)
            held = self._labelled(
                f"held-out-{number}", tree, max(2, count // HELD_OUT_PART), sampling.seed + HELD_OUT + number
            )
            held_out = Labelled.join([held_out, held])
        found = Labelled.join(list(parts.values()))
        tried = self._candidates(found, regrets(found, query.trees), held_out)
        chosen = max(tried, key=self._rank)
        document = controller_document(query, chosen.tree)
        judging = list(sessions(query, query.trees.trials, sampling.seed + JUDGING))
        judged = self._score(document, judging, "closed loops of the tree")
        search = self._score(None, judging, "closed loops of the search")
        visits = leaf_visits(query, judging, document)
        write_text(self.directory / "controller.json", controller_text(document))
        verdicts = tuple(self._prove(document))
        document = with_proofs(document, [_proof(verdict) for verdict in verdicts])
        write_text(self.directory / "controller.json", controller_text(document))
        labelled = {**{name: len(part) for name, part in parts.items()}, "held out": len(held_out)}
        return Synthesis(query, tuple(tried), chosen, judged, search, labelled, document, visits, verdicts)

    @cached_property
    def _labels(self) -> Labels:
        return Labels(self.query, label_store(self.directory / FOLDER, len(self.query.core.actions)), self.workers)

    def _begin(self) -> None:
        """Create the directory, and record in it the query to which it belongs.

        Raises
        ------
        ConfigError : the directory belongs to another query, or cannot be used
        """
        head = self.directory / "query.json"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            owner = json.loads(head.read_text("utf-8")) if head.exists() else None
            if owner is not None and (not isinstance(owner, dict) or owner.get("name") != self.query.name):
                raise ConfigError(
                    f"{self.directory} holds the synthesis of another query",
                    source=str(head),
                    hint="choose another directory with --out, or remove this one",
                )
            write_text(head, json.dumps({"name": self.query.name, "query_sha256": self.query.fingerprint}) + "\n")
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot use {self.directory}: {error}", hint="choose another one with --out") from None

    def _labelled(self, name: str, tree: Tree | None, count: int, seed: int) -> Labelled:
        noise = self.query.sampling.noise if tree is None else 0.0
        return self._kept(name, self._labels.of_sessions, count, seed, noise, tree)

    def _kept(self, name: str, of: Callable[..., Labelled], *arguments: Any) -> Labelled:
        """Return labels, and also write them to one file that other tools can read."""
        found = of(*arguments, lambda done, total: self.report(f"labels, {name}", done, total))
        label_store(self.directory, len(self.query.core.actions)).put(name, found)
        return found

    def _quick(self, found: Labelled) -> Tree:
        """Return the tree that decides in the next round's sessions. It has the largest number of leaves in the
        query.
        """
        trees = self.query.trees
        return fit(
            found, regrets(found, trees), leaves=max(trees.leaves), min_samples=trees.min_samples,
            preference=trees.preferences[0],
        )  # fmt: skip

    def _candidates(self, found: Labelled, regret: Regrets, held_out: Labelled) -> list[Candidate]:
        query = self.query
        choosing = list(sessions(query, query.trees.trials, query.sampling.seed + CHOOSING))
        search = self._score(None, choosing, "closed loops of the search")
        held_regret, last = regrets(held_out, query.trees), last_components(query, held_out)
        tried: dict[Tree, Candidate] = {}

        def attempt(name: str, tree: Tree) -> None:
            if tree not in tried:
                free = float(np.mean(held_regret.is_free(tree.choices(held_out.features), last)))
                played = self._score(controller_document(query, tree), choosing, f"closed loops of {name}")
                closed = compare(played, search)
                merit = closed.merit - query.trees.leaf_price * tree.leaves
                tried[tree] = Candidate(name, tree, free, closed, merit)

        for name, tree in candidates(query, found, regret):
            attempt(name, tree)
        finalists = self._finalists(list(tried.values())) if query.trees.tie else []
        for number, finalist in enumerate(finalists):
            spare = finalist.free - query.trees.zero_regret - FREE_MARGIN
            tree = self._without_ties(finalist.tree, found, regret, spare, number)
            attempt(f"{finalist.name}, ties by closed loop", tree)
        return list(tried.values())

    def _finalists(self, tried: list[Candidate]) -> list[Candidate]:
        """Return the best candidate of each third of the range of tree sizes. If a third has no candidate, it is
        omitted.
        """
        largest = max(candidate.tree.leaves for candidate in tried)
        best: dict[int, Candidate] = {}
        for candidate in sorted(tried, key=self._rank):
            best[(FINALISTS * candidate.tree.leaves - 1) // largest] = candidate
        return [best[size] for size in sorted(best)]

    def _rank(self, candidate: Candidate) -> tuple[bool, float]:
        """Return the sort key of a candidate: first whether it agrees with the search often enough, then its merit."""
        return candidate.free >= self.query.trees.zero_regret, candidate.merit

    def _without_ties(self, tree: Tree, found: Labelled, regret: Regrets, spare: float, number: int) -> Tree:
        """Return the tree with its ties resolved in sessions that are used for neither choosing nor judging."""
        played, search = self._tying

        def merit(changed: Tree) -> float:
            self.report("ties", number, FINALISTS)
            policy = _core.GameController(controller_text(controller_document(self.query, changed)))
            return compare(score(self.query, played, policy, workers=self.workers, progress=_silent), search).merit

        is_free = regret.order >= last_components(self.query, found)[:, None]
        return decide_ties(
            tree, tree.places(found.features), is_free, tie=self.query.trees.tie, spare=spare, merit=merit
        )

    @cached_property
    def _tying(self) -> tuple[list[str], Score]:
        """The sessions by which ties are resolved, and the search's results in them."""
        played = list(sessions(self.query, self.query.trees.trials, self.query.sampling.seed + TYING))
        return played, self._score(None, played, "closed loops of the search")

    def _score(self, document: dict[str, Any] | None, played: list[str], words: str) -> Score:
        policy = None if document is None else _core.GameController(controller_text(document))
        return score(self.query, played, policy, workers=self.workers, progress=lambda a, b: self.report(words, a, b))

    def _prove(self, document: dict[str, Any]) -> list[LeafVerdict]:
        from fairweir.game.claims import default_claims
        from fairweir.game.realise import Realiser

        path = self.directory / "controller.json"
        controller = Controller.parse(controller_text(document).encode(), str(path))
        prover = Prover(self.budget, self.solvers, realiser=Realiser(controller.links, controller.points))
        leaves = len(controller.leaves)
        return prover.prove(
            controller, list(default_claims(controller.kind)), lambda done: self.report("proofs", done, leaves)
        )


def _silent(done: int, total: int) -> None:
    """Ignore progress: ties are resolved by many short runs, whose progress is not reported."""


def _proof(verdict: LeafVerdict) -> dict[str, Any]:
    """Return a verdict in the form of the controller file, in which a vacuous claim is unknown."""
    outcome, detail = verdict.outcome.value, verdict.reason
    if outcome == "vacuous":
        outcome, detail = "unknown", f"vacuous: {detail}"
    row = {"claim": verdict.claim.text, "leaf": verdict.leaf, "status": outcome}
    return {**row, "detail": detail} if detail else row


def summary(found: Synthesis) -> dict[str, Any]:
    """Return the output of ``--json``, without paths of files."""
    return {
        "query": found.query.name,
        "labelled": found.labelled,
        "candidates": [
            {
                "name": one.name, "leaves": one.tree.leaves, "zero_regret": one.free,
                "goodput_ratio": one.closed.goodput, "frames_ratio": one.closed.frames,
                "queue_difference_steps": one.closed.queue,
                "is_chosen": one is found.chosen,
            }
            for one in found.candidates
        ],
        "leaves": found.chosen.tree.leaves,
        "zero_regret": found.chosen.free,
        "goodput_ratio": found.closed.goodput,
        "frames_ratio": found.closed.frames,
        "tree": found.judged.document(),
        "search": found.search.document(),
        "proofs": found.outcomes,
        "is_proved": found.is_proved,
    }  # fmt: skip


def documented(found: Synthesis) -> str:
    """Return the summary as JSON text."""
    return json.dumps(summary(found), indent=1) + "\n"
