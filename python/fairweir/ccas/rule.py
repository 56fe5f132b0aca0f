"""Rules: congestion control algorithms as data, which compute a sending rate from beliefs (thesis listing 4.1).

A belief is a bound on a network parameter that a sender computes from what it observed, such as C_L, a lower bound on
the link rate. A rule has branches, each with conditions and a rate; both are linear forms of beliefs. The first branch
whose conditions all hold determines the rate. The rate is at least alpha = MSS/R, where R is the propagation delay
(line 7 of the listing). A rule is evaluated exactly (:meth:`Rule.decide`), encoded for solvers (``formal.encode``), and
converted to kernel C (:mod:`fairweir.ccas.generate`). docs/formal/rules.md describes the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairweir.ccas.beliefs import FAMILIES, BeliefFamily, Unit
from fairweir.ccas.linear import FormError, LinearForm, parse_form
from fairweir.documents import shipped
from fairweir.documents.suggestions import did_you_mean
from fairweir.documents.toml import parse_document, read_document
from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError

#: Syntax of a CCA's name in Linux, where TCP_CA_NAME_MAX permits 15 characters.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
_COMPARISON = re.compile(r">=|<=|>|<")
#: Folder of the shipped rules.
RULES: Final = shipped.folder("rules")


class Comparison(Enum):
    """How a condition compares its difference (larger minus smaller side) with 0."""

    ABOVE = ">"
    AT_LEAST = ">="

    def holds(self, difference: Fraction) -> bool:
        """Return whether a condition with this comparison holds for `difference`."""
        return difference > 0 if self is Comparison.ABOVE else difference >= 0


@dataclass(frozen=True)
class Condition:
    """A condition ``larger > smaller`` or ``larger >= smaller``; in files, ``<`` and ``<=`` are also permitted.

    Attributes
    ----------
    text : str, the condition as written in the file
    difference : LinearForm, larger - smaller
    """

    text: str
    difference: LinearForm
    comparison: Comparison

    def holds(self, quantities: Mapping[str, Fraction]) -> bool:
        """Return whether the condition holds for the given values of the quantities."""
        return self.comparison.holds(self.difference.value(quantities))


@dataclass(frozen=True)
class Branch:
    """A rate, and the conditions under which the rule sends at this rate."""

    conditions: tuple[Condition, ...]
    rate: LinearForm


class _BranchTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    when: list[str] = []
    rate: str = Field(examples=['"1/2 C_L"'])


class _RuleTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str = Field(examples=['"my_rule"'])
    beliefs: str = Field(examples=['"ccac"'])
    summary: str = ""
    description: str = ""
    source: str = ""
    jitter: float = Field(default=1.0, ge=0.01, le=8)
    branch: list[_BranchTable] = Field(min_length=1, examples=['[{ rate = "2 C_L" }]'])


@dataclass(frozen=True)
class Rule:
    """The content of a rule file, after validation.

    Attributes
    ----------
    name : str, at most 15 characters, which is the limit in Linux
    beliefs : BeliefFamily, the beliefs that the rule may read
    branches : tuple of Branch; every branch except the last has conditions
    summary : str, a description in one line
    description : str, further text for the comment at the top of generated C
    source : str, the publication that describes the rule
    jitter : float; the maximum jitter D that the beliefs assume, in units of R
    """

    name: str
    beliefs: BeliefFamily
    branches: tuple[Branch, ...]
    summary: str = ""
    description: str = ""
    source: str = ""
    jitter: float = 1.0

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a rule file.

        Raises
        ------
        ConfigError : the file cannot be read, is not TOML, or is not a rule
        """
        path = Path(path)
        return cls.from_dict(read_document(path, noun="rule"), source_name=str(path))

    @classmethod
    def from_toml(cls, text: str, *, source_name: str | None = None) -> Self:
        """Parse a rule from TOML text.

        Raises
        ------
        ConfigError : the text is not TOML or not a rule
        """
        return cls.from_dict(parse_document(text, source_name), source_name=source_name)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, source_name: str | None = None) -> Self:
        """Create a rule from a parsed TOML document.

        Raises
        ------
        ConfigError : the document is not a rule
        """
        try:
            table = _RuleTable.model_validate(document)
        except ValidationError as error:
            raise explain(error, _RuleTable, document, source_name) from None

        def wrong(message: str, key: str, hint: str | None) -> ConfigError:
            return ConfigError(message, hint=hint, source=source_name, key=key)

        if not _NAME.fullmatch(table.name):
            hint = "lower case, digits and underscores, at most 15 characters: the kernel's limit"
            raise wrong(f"not a name for a rule: `{table.name}`", "name", hint)
        if table.beliefs not in FAMILIES:
            raise wrong(f"unknown beliefs: `{table.beliefs}`", "beliefs", did_you_mean(table.beliefs, list(FAMILIES)))
        family = FAMILIES[table.beliefs]
        branches = []
        for i, row in enumerate(table.branch):
            is_last = i == len(table.branch) - 1
            if row.when and is_last:
                raise wrong("the last branch has conditions", f"branch.{i}.when", "end with a branch without `when`")
            if not row.when and not is_last:
                hint = "later branches are unreachable: add conditions to this one, or make it the last"
                raise wrong("a branch before the last has no conditions", f"branch.{i}.when", hint)
            conditions = []
            for j, text in enumerate(row.when):
                key = f"branch.{i}.when.{j}"
                try:
                    condition = parse_condition(text)
                    _check_names(condition.difference, family)
                except FormError as error:
                    raise wrong(f"condition {error}: `{text}`", key, error.hint) from None
                conditions.append(condition)
            try:
                rate = parse_form(row.rate)
                _check_names(rate, family)
                if rate.unit not in {None, Unit.RATE}:
                    raise FormError(f"is {rate.unit.noun}", "divide data by R: `q_U/R`")
            except FormError as error:
                raise wrong(f"rate {error}: `{row.rate}`", f"branch.{i}.rate", error.hint) from None
            branches.append(Branch(tuple(conditions), rate))
        words = {"summary": table.summary, "description": table.description, "source": table.source}
        return cls(table.name, family, tuple(branches), **words, jitter=table.jitter)

    def to_toml(self) -> str:
        """Return the rule as the text of a rule file."""
        import tomlkit

        document = tomlkit.document()
        document.update({"name": self.name, "beliefs": self.beliefs.name})
        document.update(
            {
                key: tomlkit.string(text, multiline="\n" in text)
                for key in ("summary", "description", "source")
                if (text := getattr(self, key))
            }
        )
        if self.jitter != 1:
            document["jitter"] = self.jitter
        rows = tomlkit.aot()
        for branch in self.branches:
            row = tomlkit.table()
            if branch.conditions:
                row["when"] = [condition.text for condition in branch.conditions]
            row["rate"] = str(branch.rate)
            rows.append(row)
        document["branch"] = rows
        return tomlkit.dumps(document)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the beliefs that the rule reads, and alpha if the rule reads it."""
        forms = [branch.rate for branch in self.branches]
        forms += [condition.difference for branch in self.branches for condition in branch.conditions]
        return frozenset[str]({"alpha"}).union(*(form.names for form in forms))

    def branch_of(self, beliefs: Mapping[str, Fraction]) -> int:
        """Return the index of the branch that determines the rate. The argument is that of :meth:`decide`."""
        quantities = {"R": Fraction(1), **beliefs}
        return next(
            i
            for i, branch in enumerate(self.branches)
            if all(condition.holds(quantities) for condition in branch.conditions)
        )

    def decide(self, beliefs: Mapping[str, Fraction]) -> Fraction:
        """Return the rule's sending rate.

        Parameters
        ----------
        beliefs : name -> value, for the names in the rule, for ``alpha`` (a rate, MSS/R), and for ``R`` unless R is 1

        Returns
        -------
        Fraction, the rate in data per time, at least alpha
        """
        rate = self.branches[self.branch_of(beliefs)].rate
        return max(rate.value({"R": Fraction(1), **beliefs}), beliefs["alpha"])


def find_rule(name: str) -> Path:
    """Return the path of a rule's file, given a path that ends in ``.toml`` or a name that ``fairweir list rules``
    shows.

    Raises
    ------
    ConfigError : the rule does not exist
    """
    path = Path(name) if name.endswith(".toml") else shipped.by_name("rules").get(name)
    if path is not None and path.is_file():
        return path
    known = list(shipped.by_name("rules"))
    otherwise = f"known are {', '.join(known)}; or write the path of a rule file"
    raise ConfigError(
        f"no such rule: `{name}`", hint=did_you_mean(name.removesuffix(".toml"), known, otherwise=otherwise)
    )


def parse_condition(text: str) -> Condition:
    """Parse ``FORM > FORM`` (or ``>=``, ``<``, ``<=``); both forms must have the same unit.

    Raises
    ------
    FormError : the text is not a condition
    """
    signs = _COMPARISON.findall(text)
    if len(signs) != 1:
        problem = "does not compare" if not signs else "compares more than once"
        raise FormError(problem, "write it like `C_U > 2 C_L`; conditions that must all hold are a list")
    left, right = (parse_form(side) for side in text.split(signs[0]))
    if left.unit and right.unit and left.unit is not right.unit:
        hint = "data over R is a rate, `q_U/R`; a rate times R is data, and alpha times R is MSS"
        raise FormError(f"compares {left.unit.noun} with {right.unit.noun}", hint)
    sign = signs[0]
    difference = left - right if sign[0] == ">" else right - left
    return Condition(" ".join(text.split()), difference, Comparison(">" + sign[1:]))


def _check_names(form: LinearForm, family: BeliefFamily) -> None:
    allowed = {*family.names, "alpha"}
    for name in sorted(form.names - allowed):
        hint = f"rules with {family.name} beliefs read {', '.join(family.names)}, alpha, MSS and R"
        raise FormError(f"reads `{name}`, which is not a {family.name} belief", hint)
