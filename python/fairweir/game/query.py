"""A query of the game: links, actions and objective for the search, and how a tree is distilled from its decisions.

``crates/game`` reads and checks the tables of the game itself; ``[sampling]`` and ``[tree]`` are read here
(docs/formal/game.md; ``queries/game/``).
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
#: Any of these at the top of a query makes it one of the game.
_MARKS: Final = frozenset({"kind", "actions", "objective", *_OURS})


#: A query's name is that of a directory, too.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
#: The game is handed over as JSON; where in that text an error is says nothing about the file.
_PLACE: Final = re.compile(r" at line \d+ column \d+$")
_MISSING: Final = re.compile(r"missing field `(\w+)`")
_HINT: Final = "docs/formal/game.md describes queries; queries/game has examples"


class _Table(BaseModel):
    # Strict: `true` and "0.5" are not numbers.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Sampling(_Table):
    """Sampling of the search's decisions.

    Attributes
    ----------
    sessions : closed loops of the search on random links, with occasional random actions
    noise : fraction of random actions in them
    boxes : random situations that no policy led to
    rounds : of dataset aggregation (DAgger): the tree so far plays, the search says what it would have done
    sessions_per_round : closed loops of the tree in each round
    every : one in this number of a session's steps is labelled
    depth : horizon of the labels in steps; default the query's
    seed : of sessions, situations and what is held out
    """

    sessions: int = Field(40, ge=2, le=100_000, examples=["40"])
    noise: float = Field(0.05, ge=0.0, le=1.0, examples=["0.05"])
    boxes: int = Field(1000, ge=0, le=1_000_000, examples=["1000"])
    rounds: int = Field(3, ge=0, le=50, examples=["3"])
    sessions_per_round: int = Field(30, ge=1, le=100_000, examples=["30"])
    every: int = Field(1, ge=1, le=1000, examples=["1"])
    depth: int | None = Field(None, ge=1, le=8, examples=["4"])
    seed: int = Field(1, ge=0, le=2**31, examples=["1"])


#: A tree of more leaves has more nodes than a controller may have.
Leaves = Annotated[int, Field(ge=2, le=MAX_NODES // 2)]
#: A wrong decision costs at most 1: beyond that every situation takes the plainest action.
Price = Annotated[float, Field(ge=0.0, le=1000.0, allow_inf_nan=False)]


class Trees(_Table):
    """The trees that are fitted, and how one is chosen.

    Attributes
    ----------
    leaves : maximum numbers of leaves to try
    min_samples : labelled situations in a leaf, at least
    preferences : prices of a template's place in the list, over the price of a wrong decision: how strongly ties go to
        the plainest action
    decay : what a decision that is worse in a component costs of one that is worse in the component before it
    base : of a wrong decision's cost, the part that does not depend on how wrong it is
    leaf_price : merit in closed loop for which a tree may have a leaf more
    trials : sessions of the closed loop by which the tree is chosen; none of them was sampled
    tie : actions of a leaf tie if the fractions of its situations in which they have no regret differ by at most this;
        closed loops decide between them. 0: ties stay as the labels have them
    zero_regret : fraction of held-out situations in which its decision is to be as good as the search's; among trees
        that reach it, the closed loop decides
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
    """The tables of this side."""

    model_config = ConfigDict(extra="forbid")
    sampling: Sampling = Sampling()
    tree: Trees = Trees()


@dataclass(frozen=True)
class GameQuery:
    """The subject of a synthesis: a game, and how a tree is fitted to its decisions.

    Attributes
    ----------
    document : the file as it was read, with overrides
    source : its path
    sampling, trees : the tables of this side
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
        document : what it holds, if it was read already

        Raises
        ------
        ConfigError : no such file, no TOML, or a value that is wrong; names file, key and value
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

    @property
    def name(self) -> str:
        """The query's name."""
        return self.core.name

    @property
    def kind(self) -> Kind:
        """Kind of decisions of its controller."""
        return Kind(self.document["kind"])

    @cached_property
    def core(self) -> _core.GameQuery:
        """The game, for :mod:`fairweir._core`."""
        game = {key: value for key, value in self.document.items() if key not in _OURS}
        return _core.GameQuery(json.dumps(game))

    @cached_property
    def labels(self) -> _core.GameQuery:
        """The game with the horizon of labels."""
        depth = self.sampling.depth
        return self.core if depth is None else self.core.with_depth(depth)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything in it, as hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.document, sort_keys=True).encode()).hexdigest()

    @property
    def step(self) -> Duration:
        """The length of a step."""
        return Duration.parse(self.document.get("step", "50ms"))


def _such_as(key: str | None) -> str:
    """Return the hint for a wrong value of ``[sampling]`` or ``[tree]``: one that can be used."""
    table, _, name = (key or "").partition(".")
    models: dict[str, type[_Table]] = {"sampling": Sampling, "tree": Trees}
    field = models[table].model_fields.get(name.partition(".")[0]) if table in models else None
    if field is None or not field.examples:
        return _HINT
    return f"such as {name.partition('.')[0]} = {field.examples[0]}; docs/formal/game.md describes [{table}]"


def _of_game(error: ConfigError, source: str) -> ConfigError:
    """Return an error of the game's reader with the file, without its place in the text that was handed over."""
    message, key = _PLACE.sub("", error.message), error.key
    if key == "." and (missing := _MISSING.search(message)):
        message, key = f"{missing[1]} is missing", missing[1]
    return ConfigError(message, source=error.source or source, key=key, hint=error.hint or _HINT)


def is_game(document: dict[str, Any]) -> bool:
    """Return whether a document is a query of the game rather than of a template of rules."""
    return "template" not in document and not _MARKS.isdisjoint(document)
