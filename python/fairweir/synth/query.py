"""Query files: the template, network and requirements of a search for CCAs (thesis section 4.2.1).

Terms: a belief is a bound on a network parameter that a sender computes from what it observed. A template is a CCA with
holes: its conditions and rates are sums of beliefs and constants, with coefficients to choose. A candidate chooses all
of them. The invariant is the property that every solution must have on every trace of the network. Symbols: C, link
rate; R, round-trip propagation delay; D, maximum jitter; MSS, the size of a packet; alpha, one MSS per R.

docs/formal/synthesis.md describes the format; the folder ``queries/`` has a query for each row of the thesis' Table
4.1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fairweir.ccas.beliefs import FAMILIES, BeliefFamily, Unit
from fairweir.ccas.linear import Atom, FormError, LinearForm, parse_form
from fairweir.documents.quantities import invalid, show
from fairweir.documents.toml import read_document
from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.formal.beliefs import Expiry, Resolution, Start
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.demands import QUEUE, UTILIZATION, Demands, LargeLoss
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks
from fairweir.formal.models import NETWORKS
from fairweir.scenario.overrides import apply
from fairweir.synth.space import Shape, Space, combinations, conditions_in
from fairweir.synth.survivors import MAX_BRANCH_OPTIONS, MAX_STEPS

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?")


def _fraction(value: Any) -> Fraction:
    """Parse a whole number, or a fraction in quotes; floating-point numbers are rejected because they are not exact."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Fraction(value)
    raise invalid("{noun} must be a whole number or a fraction", value, 'write it as 2 or "1/2"')


def _network(value: Any) -> str:
    """Return the name of a network model if it is known."""
    if isinstance(value, str) and value in NETWORKS:
        return value
    *first, last = (f"'{name}'" for name in NETWORKS)
    raise invalid(f"{{noun}} cannot be `{show(value)}`", hint=f"write {', '.join(first)} or {last}")


Exact = Annotated[Fraction, BeforeValidator(_fraction)]
Network = Annotated[str, BeforeValidator(_network)]
Coefficients = dict[str, list[Exact]]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Template(_Table):
    """The template: how its conditions are nested, and the coefficients that may fill the holes."""

    shape: Shape = Field(examples=['"chain"'])
    rates: int = Field(ge=2, examples=["2"])
    condition: list[Coefficients] = Field(min_length=1, examples=["[{ C_L = [-1, 0, 1], C_U = [-1, 0, 1] }]"])
    rate: Coefficients = Field(examples=['{ C_L = ["1/2", 1, 2], alpha = [-1, 0, 1] }'])


class Beliefs(_Table):
    """The options of the beliefs.

    Attributes
    ----------
    start : whether beliefs may be stale, that is, exclude the true value, at t = 0
    expiry : whether beliefs time out, that is, may become wider again, at the last point of a trace
    resolution : resolution of the delays that a sender observes on a link of the model ``cbr-delay``: exact, or in
        steps
    """

    start: Start = Start.CONSISTENT
    expiry: Expiry = Expiry.NEVER
    resolution: Resolution = Resolution.STEP


class Objectives(_Table):
    """The constants of the synthesis invariant (:mod:`fairweir.formal.encoding.invariant`).

    Attributes
    ----------
    utilization : minimum utilization, as a fraction of C
    queue : maximum number of queued bytes, in C (R + D), in addition to 3 MSS
    large_loss : when a large loss violates the invariant even if the beliefs become tighter
    large_buffer : minimum size of a large buffer, in C (R + D). The thesis uses 3, the published code 5
    """

    utilization: Exact = UTILIZATION
    queue: Exact = QUEUE
    large_loss: LargeLoss = LargeLoss.NEVER
    large_buffer: Exact = Fraction(3)


class Published(_Table):
    """The published result for the same query, which is shown next to the result of the search.

    Attributes
    ----------
    size : number of candidates in the template
    seconds : wall time of the published search, s
    """

    solutions: int | None = None
    iterations: int | None = None
    seconds: float | None = None
    size: float | None = None


class Query(_Table):
    """The content of a query file, after validation."""

    name: str = Field(examples=['"my-query"'])
    source: str = ""
    description: str = ""
    model: Network = Field(examples=['"ccac"'])
    buffer: Buffer = Field(examples=['"infinite"'])
    points: int = Field(ge=3, examples=["5"])
    acks: Acks = Acks.MAY_PAUSE
    beliefs: Beliefs = Beliefs()
    template: Template
    objectives: Objectives = Objectives()
    published: Published = Published()

    @classmethod
    def load(cls, path: str | Path, settings: Mapping[str, Any] | None = None) -> Self:
        """Read a query file, after replacing the values at the dotted keys in `settings`.

        Raises
        ------
        ConfigError : the file cannot be read, is not TOML, is not a query, or has a template that is too large to
            search
        """
        document = read_document(Path(path), noun="query")
        return cls.from_dict(apply(document, settings or {}), source_name=str(path))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, source_name: str | None = None) -> Self:
        """Validate a parsed TOML document.

        Raises
        ------
        ConfigError : the document is not a query, or its template is too large to search
        """
        try:
            query = cls.model_validate(document)
        except ValidationError as error:
            raise explain(error, cls, document, source_name) from None
        try:
            query._check()
        except ConfigError as error:
            error.source = source_name
            raise
        return query

    @property
    def family(self) -> BeliefFamily:
        """The names and units of the beliefs that candidates can read."""
        return FAMILIES[NETWORKS[self.model].beliefs]

    @property
    def demands(self) -> Demands:
        """The constants of the invariant."""
        asked = self.objectives
        return Demands(asked.utilization, asked.queue, asked.large_loss, asked.large_buffer, start=self.beliefs.start)

    @cached_property
    def grid(self) -> Grid:
        """The sample points of a trace, one per R. The maximum jitter D is R, except on an ideal link, where D is 0."""
        grid = Grid(self.points)
        return grid if NETWORKS[self.model].has_jitter else grid.without_jitter()

    @cached_property
    def space(self) -> Space:
        """All candidates of the template."""
        conditions = [
            form
            for i, group in enumerate(self.template.condition)
            for form in combinations(self._atoms(group, f"template.condition.{i}", None))
        ]
        rates = combinations(self._atoms(self.template.rate, "template.rate", Unit.RATE))
        return Space(self.family, self.template.shape.tree(self.template.rates), tuple(conditions), rates)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the fields that determine the result of a search; name, source, description and published result
        are excluded.
        """
        asked = self.model_dump(mode="json", exclude={"name", "source", "description", "published"})
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    def _check(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"not a name for a query: `{self.name}`", key="name", hint="lower case, digits and hyphens"
            )
        if self.points - 1 > MAX_STEPS:
            raise ConfigError(f"points must be at most {MAX_STEPS + 1}: `{self.points}`", key="points")
        if self.objectives.large_loss is not LargeLoss.NEVER and not self.buffer.is_finite:
            raise ConfigError(
                f"an infinite buffer loses nothing: `{self.objectives.large_loss}`",
                key="objectives.large_loss",
                hint="leave it out, or use a finite buffer",
            )
        shape, rates = self.template.shape, self.template.rates
        try:
            tree = shape.tree(rates)
        except ValueError:
            wanted = {Shape.TREE: 4, Shape.UNBALANCED: 3}[shape]
            raise ConfigError(
                f"a {shape} has {wanted} rates: `{rates}`", key="template.rates", hint=f"write rates = {wanted}"
            ) from None
        space = self.space
        for branch in (tree.then, tree.otherwise):
            n = conditions_in(branch)
            options = len(space.conditions) ** n * len(space.rates) ** (n + 1)
            if options > MAX_BRANCH_OPTIONS:
                raise ConfigError(
                    f"template too large to search: {space.size:.2g} candidates, {options:.2g} ways to fill one branch",
                    key="template",
                    hint=f"at most {MAX_BRANCH_OPTIONS:,} ways to fill one branch below the first condition: take "
                    'fewer coefficients, or balance the branches with shape = "tree"',
                )

    def _atoms(self, group: Coefficients, key: str, unit: Unit | None) -> dict[Atom, list[Fraction]]:
        """Parse a table of coefficients; all quantities in the table must have the same unit."""
        found: dict[Atom, list[Fraction]] = {}
        for name, factors in group.items():
            here = f"{key}.{name}"
            try:
                form = parse_form(name)
                atom = _only_atom(form, name)
            except FormError as error:
                raise ConfigError(f"coefficient's name {error}: `{name}`", key=here, hint=error.hint) from None
            readable = {*self.family.names, "alpha", ""}
            if atom.name not in readable:
                raise ConfigError(
                    f"`{atom.name}` is not a belief on a {self.model} link",
                    key=here,
                    hint=f"beliefs are {', '.join(self.family.names)}, alpha, MSS and R",
                )
            unit = unit or form.unit
            if form.unit is not unit:
                nouns = [one.noun if one else "nothing" for one in (form.unit, unit)]
                raise ConfigError(
                    f"adds {nouns[0]} to {nouns[1]}: `{name}`",
                    key=here,
                    hint="a rate times R is data, data over R a rate; other units make another [[template.condition]]",
                )
            if not factors or len(set(factors)) < len(factors):
                shown = ", ".join(map(str, factors))
                raise ConfigError(f"coefficients must be distinct, at least one: `[{shown}]`", key=here)
            if atom in found:
                raise ConfigError(f"two names for one quantity: `{name}`", key=here)
            found[atom] = list(factors)
        if not found:
            raise ConfigError("a group of coefficients is empty", key=key, hint="write it like { C_L = [-1, 0, 1] }")
        return found


def _only_atom(form: LinearForm, name: str) -> Atom:
    if len(form.terms) != 1 or form.terms[0][1] != 1:
        raise FormError("is not one quantity", f"write a single quantity, such as `C_L` or `q_U/R`, not `{name}`")
    return form.terms[0][0]
