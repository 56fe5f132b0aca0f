"""Queries of decision synthesis: the game, and the options for fitting a decision tree (docs/formal/game.md).

The *game* is a model of the link, templates of a sender's actions, and an objective. A search of the game values each
action in a *situation* (the input of a decision). A *session* is a run of a sender in closed loop on a random link. A
decision has *regret* if the search values another action better in a component of the objective other than the last.

``crates/game`` reads and checks the tables of the game. This module reads the tables ``[sampling]`` and ``[tree]``.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairweir import _core
from fairweir.ccas.controller_file import MAX_NODES, Kind
from fairweir.documents.toml import read_document
from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.units import Duration

_OURS: Final = ("sampling", "tree")
#: If a file has one of these top-level keys, it is a query of decision synthesis.
_MARKS: Final = frozenset({"kind", "actions", "objective", *_OURS})


#: A query's name is also the name of a directory.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
#: Position in the JSON text that is passed to crates/game; the user's file has no such position.
_PLACE: Final = re.compile(r" at line \d+ column \d+$")
_MISSING: Final = re.compile(r"missing field `(\w+)`")
_HINT: Final = "docs/formal/game.md describes queries; queries/game has examples"


class _Table(BaseModel):
    # Strict: `true` and "0.5" are not numbers.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Sampling(_Table):
    """Options for sampling the search's decisions: the table ``[sampling]``.

    Attributes
    ----------
    sessions : number of sessions in which the search decides, with occasional random actions
    noise : fraction of random actions in these sessions
    boxes : number of situations drawn at random from all states that the model allows
    rounds : number of rounds of dataset aggregation (DAgger): the current tree decides, and the search labels the
        situations that occur
    sessions_per_round : number of sessions in each round
    every : only one of this number of steps in a session is labeled
    depth : horizon of the labels in steps; default: the query's horizon
    seed : seed of sessions, situations and held-out situations
    """

    sessions: int = Field(40, ge=2, le=100_000, examples=["40"])
    noise: float = Field(0.05, ge=0.0, le=1.0, examples=["0.05"])
    boxes: int = Field(1000, ge=0, le=1_000_000, examples=["1000"])
    rounds: int = Field(3, ge=0, le=50, examples=["3"])
    sessions_per_round: int = Field(30, ge=1, le=100_000, examples=["30"])
    every: int = Field(1, ge=1, le=1000, examples=["1"])
    depth: int | None = Field(None, ge=1, le=8, examples=["4"])
    seed: int = Field(1, ge=0, le=2**31, examples=["1"])


#: Maximum numbers of leaves. A tree with more leaves would exceed the maximum number of nodes of a controller.
Leaves = Annotated[int, Field(ge=2, le=MAX_NODES // 2)]
#: Price of an action's place in the list of templates. The cost of a wrong decision is at most 1, so at a very high
#: price every situation would take the first template.
Price = Annotated[float, Field(ge=0.0, le=1000.0, allow_inf_nan=False)]


class Trees(_Table):
    """Options for fitting trees and for choosing one of them: the table ``[tree]``.

    Attributes
    ----------
    leaves : maximum numbers of leaves to try
    min_samples : minimum number of labeled situations in a leaf
    preferences : prices per place in the list of templates, relative to the cost of a wrong decision; with a higher
        price, more ties between templates are resolved in favor of the template that is listed first
    decay : cost of a decision that is worse in one component of the objective, divided by the cost of a decision that
        is worse in the component before
    base : part of a wrong decision's cost that does not depend on how much worse the decision is
    leaf_price : increase of the merit in closed loop that an additional leaf must cause
    trials : number of sessions by which the tree is chosen; none of them is used for training
    tie : two templates of a leaf tie if the fractions of the leaf's situations in which they have no regret differ by
        at most this number; sessions decide between tied templates. 0: the labels decide
    zero_regret : required fraction of held-out situations in which the tree's decision has no regret; among the trees
        with at least this fraction, sessions decide
    """

    leaves: list[Leaves] = Field([12, 20, 30, 40], min_length=1, max_length=20, examples=["[12, 20, 30, 40]"])
    min_samples: int = Field(8, ge=1, le=1_000_000, examples=["8"])
    preferences: list[Price] = Field([0.01], min_length=1, max_length=10, examples=["[0.001, 0.01]"])
    decay: float = Field(0.8, ge=0.01, le=1.0, examples=["0.8"])
    base: float = Field(0.1, ge=0.0, le=1.0, examples=["0.1"])
    leaf_price: float = Field(0.0002, ge=0.0, le=1.0, examples=["0.0002"])
    trials: int = Field(40, ge=2, le=10_000, examples=["40"])
    tie: float = Field(0.2, ge=0.0, le=1.0, examples=["0.2"])
    zero_regret: float = Field(0.95, ge=0.0, le=1.0, examples=["0.95"])


class _Tables(BaseModel):
    """The tables of a query that this module reads."""

    model_config = ConfigDict(extra="forbid")
    sampling: Sampling = Sampling()
    tree: Trees = Trees()


@dataclass(frozen=True)
class GameQuery:
    """A query: a game, and options for fitting a decision tree to the search's decisions.

    Attributes
    ----------
    document : the contents of the file, with overrides
    source : path of the file
    sampling, trees : the tables ``[sampling]`` and ``[tree]``
    """

    document: dict[str, Any]
    source: Path
    sampling: Sampling
    trees: Trees

    @classmethod
    def load(cls, path: Path, document: dict[str, Any] | None = None) -> GameQuery:
        """Read a query.

        Parameters
        ----------
        path : Path of the TOML file
        document : the contents of the file, if it has been read

        Raises
        ------
        ConfigError : the file does not exist, is not TOML, or has an invalid value; the error names file, key and value
        """
        found = read_document(path) if document is None else document
        ours = {key: found[key] for key in _OURS if key in found}
        try:
            tables = _Tables.model_validate(ours)
        except ValidationError as error:
            reported = explain(error, _Tables, ours, str(path))
            hint = reported.hint or _such_as(reported.key)
            raise ConfigError(reported.message, source=reported.source, key=reported.key, hint=hint) from None
        query = cls(found, path, tables.sampling, tables.tree)
        try:
            name = query.core.name
        except ConfigError as error:
            raise _of_game(error, str(path)) from None
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"cannot name a directory: `{name}`",
                source=str(path),
                key="name",
                hint="write letters, digits, full stops, hyphens and underscores, a letter or digit first",
            )
        return query

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields only: another process builds the game from them."""
        return GameQuery, (self.document, self.source, self.sampling, self.trees)

    @property
    def name(self) -> str:
        """Name of the query."""
        return self.core.name

    @property
    def kind(self) -> Kind:
        """Kind of the controller: it decides a rate, or also the frames of a video."""
        return Kind(self.document["kind"])

    @cached_property
    def core(self) -> _core.GameQuery:
        """The game, in the form that :mod:`fairweir._core` uses."""
        game = {key: value for key, value in self.document.items() if key not in _OURS}
        return _core.GameQuery(json.dumps(game))

    @cached_property
    def labels(self) -> _core.GameQuery:
        """The game with the horizon that is used for labels."""
        depth = self.sampling.depth
        return self.core if depth is None else self.core.with_depth(depth)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the query's contents, as hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.document, sort_keys=True).encode()).hexdigest()

    @property
    def step(self) -> Duration:
        """Duration of a step."""
        return Duration.parse(self.document.get("step", "50ms"))


def _such_as(key: str | None) -> str:
    """Return the hint for an invalid value of ``[sampling]`` or ``[tree]``: an example of a valid value."""
    table, _, name = (key or "").partition(".")
    models: dict[str, type[_Table]] = {"sampling": Sampling, "tree": Trees}
    field = models[table].model_fields.get(name.partition(".")[0]) if table in models else None
    if field is None or not field.examples:
        return _HINT
    return f"such as {name.partition('.')[0]} = {field.examples[0]}; docs/formal/game.md describes [{table}]"


def _of_game(error: ConfigError, source: str) -> ConfigError:
    """Return an error of the game's parser with the file's name instead of the position in the JSON text."""
    message, key = _PLACE.sub("", error.message), error.key
    if key == "." and (missing := _MISSING.search(message)):
        message, key = f"{missing[1]} is missing", missing[1]
    return ConfigError(message, source=error.source or source, key=key, hint=error.hint or _HINT)


def is_game(document: dict[str, Any]) -> bool:
    """Return whether a document is a query of decision synthesis, not a query for rules."""
    return "template" not in document and not _MARKS.isdisjoint(document)
