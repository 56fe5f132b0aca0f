"""Query files: their meaning, and errors of invalid files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairweir.ccas.linear import Atom
from fairweir.errors import ConfigError
from fairweir.synth.query import Query
from fairweir.synth.space import Shape

QUERIES = sorted((Path(__file__).parents[2] / "queries").glob("*.toml"))
G1 = next(path for path in QUERIES if path.stem == "g1-5")

#: Candidates in Table 4.1, where the coefficients that the published code has give as many.
SIZES = {"chain 2": 37_440, "chain 3": 116_812_800, "tree 4": 364_455_936_000}


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_the_queries_of_the_table_are_whole(path: Path) -> None:
    query = Query.load(path)
    assert query.name == path.stem
    assert query.published.solutions is not None
    if query.model != "cbr-delay":
        assert query.space.size == SIZES[f"{query.template.shape.value} {query.template.rates}"]


def test_a_condition_reads_rates_or_times() -> None:
    forms = Query.load(G1).space.conditions
    assert len(forms) == 7 * 7 * 5 + 3 * 5
    for form in forms:
        names = {atom for atom, _ in form.terms}
        assert not (names & {Atom("C_L", 0), Atom("alpha", 0)}) or not (names & {Atom("qdel_L", 0), Atom("", 1)})


@pytest.mark.parametrize(
    ("settings", "message", "key"),
    [
        ({"model": "ccac2"}, "model cannot be `ccac2`", "model"),
        ({"points": 2}, "points must be at least 3", "points"),
        ({"points": 40}, "points must be at most 33", "points"),
        ({"pionts": 5}, "unknown key `pionts`", "pionts"),
        ({"template.rates": 3, "template.shape": "tree"}, "a tree has 4 rates: `3`", "template.rates"),
        ({"template.rates": 1}, "at least 2", "template.rates"),
        ({"template.rate": {"C_L": [0.5]}}, "whole number or a fraction: `0.5`", "template.rate.C_L.0"),
        ({"template.rate": {"C_L": []}}, "must be distinct, at least one: `[]`", "template.rate.C_L"),
        ({"template.rate": {"C_L": [1, 1]}}, "must be distinct, at least one: `[1, 1]`", "template.rate.C_L"),
        ({"template.rate": {"C_M": [1]}}, "unknown name `C_M`", "template.rate.C_M"),
        ({"template.rate": {"q_U": [1]}}, "`q_U` is not a belief on a ccac link", "template.rate.q_U"),
        ({"template.rate": {"qdel_L": [1]}}, "adds a time to a rate", "template.rate.qdel_L"),
        ({"template.rate": {"2 C_L": [1]}}, "is not one quantity", "template.rate.2 C_L"),
        ({"template.rate": {"alpha": [1], "MSS/R": [2]}}, "two names for one quantity", "template.rate.MSS/R"),
        ({"template.rate": {}}, "is empty", "template.rate"),
        ({"template.condition": [{"C_L": [1], "R": [1]}]}, "adds a time to a rate", "template.condition.0.R"),
        ({"objectives.large_loss": "always"}, "an infinite buffer loses nothing", "objectives.large_loss"),
        ({"name": "No Name"}, "not a name for a query", "name"),
    ],
)
def test_bad_queries_are_reported_with_their_key(settings: dict[str, Any], message: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Query.load(G1, settings)
    assert message in caught.value.message
    assert caught.value.key == key
    assert caught.value.source == str(G1)


def test_a_template_too_large_to_search_is_reported_with_its_size_and_the_limit() -> None:
    with pytest.raises(ConfigError) as caught:
        Query.load(G1, {"template.rates": 4})
    assert "too large to search: 3.6e+11 candidates" in caught.value.message
    assert "200,000" in (caught.value.hint or "")
    assert Query.load(G1, {"template.rates": 4, "template.shape": "tree"}).space.size == SIZES["tree 4"]


def test_published_numbers_do_not_change_the_fingerprint() -> None:
    asked = Query.load(G1)
    assert Query.load(G1, {"published.solutions": 5, "description": "other"}).fingerprint == asked.fingerprint
    assert Query.load(G1, {"points": 6}).fingerprint != asked.fingerprint
    assert Query.load(G1, {"objectives.utilization": "1/3"}).fingerprint != asked.fingerprint


def test_a_tree_of_conditions_becomes_branches_in_order() -> None:
    space = Query.load(G1, {"template.rates": 4, "template.shape": "tree"}).space
    rule = space.rule((257, 1, 250, 10, 8, 4, 0), "any")
    shown = [(tuple(c.text for c in branch.conditions), str(branch.rate)) for branch in rule.branches]
    first, second, third = (f"{form}" for form in ("qdel_L > 0", "0 > 2 C_L + 2 C_U + alpha", "2 R > qdel_L"))
    assert [len(conditions) for conditions, _ in shown] == [2, 1, 1, 0]
    assert shown[0][0] == (first, second)
    assert shown[1][0] == (first,)
    assert shown[2][0][0].endswith(third.split()[-1]) or "R" in shown[2][0][0]
    assert [rate for _, rate in shown] == [str(space.rates[i]) for i in (10, 8, 4, 0)]


def test_classes_leave_constants_open() -> None:
    space = Query.load(G1).space
    members = list(space.members(space.class_of((257, 3, 10))))
    assert len(members) == space.class_size(space.class_of((257, 3, 10))) == 45
    assert len({space.class_of(member) for member in members}) == 1
    texts = [str(space.rates[member[2]]) for member in members]
    assert set(texts) == {"2 C_L", "2 C_L + alpha", "2 C_L - alpha"}
    assert texts[0] == "2 C_L"


@pytest.mark.parametrize("shape", list(Shape))
def test_a_shape_with_another_number_of_rates_is_rejected(shape: Shape) -> None:
    with pytest.raises(ValueError, match="does not have"):
        shape.tree(1)
