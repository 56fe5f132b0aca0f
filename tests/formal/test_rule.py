"""Rule files: parsing, errors, decisions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.ccas.beliefs import QUANTITIES, Unit
from fairweir.ccas.linear import parse_form
from fairweir.ccas.rule import RULES, Rule, parse_condition
from fairweir.errors import ConfigError

FILES = sorted(RULES.glob("*.toml"))

fractions = st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=1000)
factors = st.fractions(min_value=-3, max_value=3, max_denominator=4).filter(bool)


def make(*branches: dict[str, Any], **keys: Any) -> Rule:
    return Rule.from_dict(
        {"name": "mine", "beliefs": "ccac", "branch": list(branches), **keys}, source_name="mine.toml"
    )


def quantities(**names: str | int) -> dict[str, Fraction]:
    return {"alpha": Fraction(1, 100), **{name: Fraction(value) for name, value in names.items()}}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_rules_of_the_repository_bear_their_files_names_and_survive_being_written(file: Path) -> None:
    rule = Rule.load(file)
    assert rule.name == file.stem
    assert rule.source
    assert rule.summary
    assert Rule.from_toml(rule.to_toml()) == rule


def test_there_are_the_five_of_the_listing() -> None:
    assert {"cc_qdel", "cc_probe_fast", "cc_probe_drain", "cc_probe_slow", "cc_probe_qdel"} <= {f.stem for f in FILES}


@pytest.mark.parametrize(
    ("name", "beliefs", "rate"),
    [
        ("cc_qdel", quantities(C_L=1, C_U=2, qdel_L=0), "2"),
        ("cc_qdel", quantities(C_L=1, C_U=2, qdel_L=1), "1/2"),
        ("cc_probe_fast", quantities(C_L=1, C_U="19/10"), "1"),
        ("cc_probe_fast", quantities(C_L=1, C_U=2), "2"),
        ("cc_probe_drain", quantities(C_L=1, C_U="199/100"), "201/100"),
        ("cc_probe_drain", quantities(C_L=1, C_U="198/100"), "99/100"),
        ("cc_probe_slow", quantities(C_L_lambda=1, q_U="1/100"), "201/100"),
        ("cc_probe_slow", quantities(C_L_lambda=1, q_U="1/4"), "3/4"),
        ("cc_probe_slow", quantities(C_L_lambda=1, q_U=5), "1/100"),
        ("cc_probe_slow_3", quantities(C_L_lambda=1, q_U=0), "301/100"),
        ("cc_probe_qdel", quantities(C_L=1, C_U="7/5", qdel_L=2), "1/100"),
        ("cc_probe_qdel", quantities(C_L=1, C_U="7/5", qdel_L=1), "1"),
        ("cc_probe_qdel", quantities(C_L=1, C_U=2, qdel_L=2), "1"),
        ("cc_probe_qdel", quantities(C_L=1, C_U=3, qdel_L=2), "201/100"),
    ],
)
def test_the_rules_decide_as_listing_4_2_has_them(name: str, beliefs: dict[str, Fraction], rate: str) -> None:
    assert Rule.load(RULES / f"{name}.toml").decide(beliefs) == Fraction(rate)


def test_a_time_or_an_amount_is_scaled_by_r() -> None:
    half_r = {**quantities(C_L_lambda=1, q_U="1/4"), "R": Fraction(1, 2)}
    slow = Rule.load(RULES / "cc_probe_slow.toml")
    assert slow.decide(half_r) == Fraction(1, 2)
    assert slow.decide({**half_r, "alpha": Fraction(1, 2)}) == Fraction(5, 2)


@given(st.dictionaries(st.sampled_from(["C_L", "C_U", "alpha", "q_U/R"]), factors), st.data())
def test_a_form_means_the_sum_of_its_terms(terms: dict[str, Fraction], data: st.DataObject) -> None:
    values = {name: data.draw(fractions) for name in (*QUANTITIES, "R")}
    form = parse_form(" + ".join(f"{f} {name}" for name, f in terms.items()).replace("+ -", "- ") or "0")
    atoms = {**values, "q_U/R": values["q_U"] / values["R"]}
    assert form.value(values) == sum(factor * atoms[name] for name, factor in terms.items())
    assert parse_form(str(form)) == form
    assert form.unit is (Unit.RATE if terms else None)


@given(fractions, fractions)
def test_a_condition_may_be_written_from_either_side(c_l: Fraction, c_u: Fraction) -> None:
    values = {"C_L": c_l, "C_U": c_u}
    assert parse_condition("C_U > 2 C_L").holds(values) is (c_u > 2 * c_l)
    assert parse_condition("2*C_L <= C_U").holds(values) is (c_u >= 2 * c_l)
    assert parse_condition("C_U/2 < C_L").holds(values) is (c_u < 2 * c_l)
    assert parse_condition("0.5 C_U >= C_L").holds(values) is (c_u >= 2 * c_l)


REFUSED = [
    ("C_U", "does not compare", "write it like `C_U > 2 C_L`"),
    ("C_U > C_L > alpha", "compares more than once", "are a list"),
    ("C_U > qdel_L", "compares a rate with a time", "a rate times R is data"),
    ("qdel_L > 3", "has a number without unit, `3`", "`alpha`, `MSS` or `R`"),
    ("C_V > 0", "has an unknown name `C_V`", "did you mean `C_U`?"),
    ("q_U > MSS", "reads `q_U`, which is not a ccac belief", "C_L, C_U, qdel_L"),
    ("C_U > ", "is empty", "write it like"),
    ("C_U > 2 C_L -", "lacks a term", "write it like"),
    ("C_U C_L > 0", "multiplies `C_U` by `C_L`", "only R"),
    ("C_U/C_L > 0", "divides by `C_L`", "only R and numbers"),
    ("C_U/0 > C_L", "divides by 0", None),
    ("C_U > * C_L", "has nothing to multiply or divide at `*`", "write it like"),
    ("C_L + qdel_L > 0", "adds a rate (`C_L`) to a time (`qdel_L`)", "`q_U/R`"),
    ("C_L R R > 0", "has `C_L R R`, which is neither rate, data nor time", "as `C_L`"),
    ("C_L % 2 > 0", "cannot be read at `% 2`", "write it like"),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_a_condition_that_makes_no_sense_is_reported_where_and_why(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        make({"when": [text], "rate": "C_L"}, {"rate": "2 C_L"})
    assert str(caught.value).startswith(f"condition {message}")
    assert f"`{text}` (mine.toml: branch.0.when.0)" in str(caught.value)
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("keys", "message", "key"),
    [
        ({"name": "Mine"}, "not a name for a rule: `Mine`", "name"),
        ({"name": "a_name_that_is_long"}, "not a name for a rule", "name"),
        ({"beliefs": "cbr"}, "unknown beliefs: `cbr`", "beliefs"),
        ({"jitter": 0.0}, "jitter must be at least 0.01: `0.0`", "jitter"),
        ({"brunch": 1}, "unknown key `brunch`", "brunch"),
        ({"branch": []}, "branch has the wrong length", "branch"),
        ({"branch": [{"rate": "C_L R"}]}, "rate is an amount of data", "branch.0.rate"),
        ({"branch": [{"rate": "C_L"}, {"rate": "C_U"}]}, "a branch before the last has no cond", "branch.0.when"),
        ({"branch": [{"when": ["C_L > 0"], "rate": "C_L"}]}, "the last branch has conditions", "branch.0.when"),
        ({"branch": [{"when": "C_L > 0", "rate": "C_L"}]}, "branch when must be a list", "branch.0.when"),
    ],
)
def test_a_malformed_rule_is_reported_where_and_why(keys: dict[str, Any], message: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(**{"branch": [{"rate": "C_L"}], **keys})
    assert caught.value.message.startswith(message)
    assert (caught.value.source, caught.value.key) == ("mine.toml", key)


def test_a_file_that_does_not_exist_is_reported_as_a_rule(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="rule cannot be read: no such file"):
        Rule.load(tmp_path / "none.toml")
