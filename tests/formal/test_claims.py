"""Claims at sample points, combined claims and invariants: parsed, proved, refuted, judged and replayed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import z3
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairweir.errors import ConfigError
from fairweir.formal.claims.claim import Joined
from fairweir.formal.claims.comparisons import parse_comparison
from fairweir.formal.claims.syntax import parse_assumption, parse_claim
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.properties import PROPERTIES
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.formal.solving.solvers import Budget
from fairweir.formal.verdicts.evidence import gather
from fairweir.formal.verdicts.subjects import find_subject
from fairweir.formal.verdicts.verify import Case, verify

PROVED, REFUTED, VACUOUS = ProofOutcome.PROVED, ProofOutcome.REFUTED, ProofOutcome.VACUOUS


def case(cca: str, claim: str, points: int, *assumed: str, model: str = "ccac", buffer: str = "infinite") -> Case:
    given = tuple(map(parse_assumption, assumed))
    return Case(find_subject(cca), model, parse_claim(claim), Grid(points), Buffer(buffer), 1, given)


NEAR = ("C_L>=69/100", "C_U<=3")
#: Each kind of claim, proved and refuted. Last column: whether a replay in packets measures all quantities of the
#: claim.
KINDS = [
    (case("cc_qdel", "bq@end <= bq@0 - 1/2", 8, "bq>=7", "C_L>=69/100", "qdel_L>=6"), PROVED, True),
    (case("cc_qdel", "bq@end <= bq@0 - 1/2", 6, "bq>=5", *NEAR), REFUTED, True),
    (case("cc_qdel", "1/4 <= rate@end <= 3", 6, *NEAR), PROVED, False),
    (case("cc_qdel", "1/2 <= C_L@end <= 1", 6), REFUTED, False),
    (case("cc_qdel", "queue@end <= queue@1", 5, "queue@1>=4", "qdel_L@1>=3"), PROVED, True),
    (case("cc_qdel", "queue@end <= queue@1", 5, "queue@1>=4"), REFUTED, True),
    (case("cc_qdel", "utilization>=1/2 or queue@3<=1/2", 7, "C_L>=69/100"), PROVED, True),
    (case("cc_qdel", "queue<=1 or utilization>=9/10", 6), REFUTED, True),
    (case("cc_qdel", "rate@end > rate@1 or queue<=3", 6, *NEAR), REFUTED, False),
    (case("cc_qdel", "queue<=4 and inflight@end<=2", 6, *NEAR), REFUTED, True),
    (case("cc_qdel", "invariant(utilization>=3/5, queue<=5)", 7, model="ccac-published"), PROVED, False),
    (case("cc_qdel", "invariant(utilization>=9/10, queue<=1)", 6, model="ccac-published"), REFUTED, False),
    (
        case("cc_probe_drain", "invariant(large-loss=always)", 5, model="ccac-published", buffer="small"),
        REFUTED,
        False,
    ),
]


@pytest.mark.parametrize(("asked", "outcome", "in_packets"), KINDS)
def test_each_kind_of_claim_is_proved_or_refuted_judged_and_replayed(
    asked: Case, outcome: ProofOutcome, in_packets: bool
) -> None:
    found = verify(asked, Budget(30))
    assert found.outcome is outcome, found.answer.reason
    if found.trace is None:
        return
    # First the exact trace is judged by definition, then the packets, if they measure the quantities of the claim.
    assert asked.claim.holds(found.trace) is False
    assert found.shown
    played = gather(found).played
    assert played is not None
    assert played.breaks is (True if in_packets else None)
    if in_packets:
        assert all(abs(float(value - found.shown[name])) < 0.01 for name, value in played.shown.items())


#: Claims derived by hand: consequences of only the model or the rule, impossible claims, and vacuous claims.
TRIVIAL = [
    ("cc_qdel", "rate@end <= 2", PROVED),  # it sends 2 C_L or C_L / 2 - alpha, and C_L <= C
    ("cc_qdel", "rate@end <= 1", REFUTED),
    ("cc_qdel", "rate@1 <= 2 C_L@0", PROVED),  # or alpha, which is at most C_L
    ("cc_qdel", "rate@1 < 2 C_L@0", REFUTED),
    ("cc_qdel", "A@end - A@0 <= 6", PROVED),  # three steps at 2 C
    ("cc_qdel", "A@end - A@0 <= 5", REFUTED),
    ("cc_qdel", "rate@end = 2 C_L@2 or qdel_L@2 > 0", PROVED),
    ("cc_qdel", "rate@end = 2 C_L@2", REFUTED),
    ("cc_qdel", "queue@end <= queue@0 + 6 and rate@end <= 2", PROVED),
    ("cc_qdel", "queue@end <= queue@0 and rate@end <= 2", REFUTED),
    ("cc_qdel", "queue@end >= 0", VACUOUS),
    ("cc_qdel", "S@end - S@0 <= 4", VACUOUS),  # three steps and D
    ("cc_qdel", "rate@end >= alpha", VACUOUS),
    ("cc_qdel", "C_L@end >= C_L@0", VACUOUS),  # bounds only ever tighten
    ("cc_qdel", "C_U@end <= C_U@1", VACUOUS),
    ("cc_qdel", "alpha < 1/5", VACUOUS),
    ("cc_qdel", "queue@end >= 0 or rate@end <= 1", VACUOUS),
    ("cc_qdel", "C_L@end > C_L@0", REFUTED),
    ("cc_qdel", "alpha < 1/10", REFUTED),
    ("cc_qdel", "alpha < 1/10 or alpha >= 1/10", VACUOUS),
    ("idle", "rate@end = alpha", PROVED),
    ("idle", "A@end - A@1 <= 2/5", PROVED),  # two steps below C R / 5
    ("idle", "utilization>=1/2", REFUTED),
    ("aimd", "cwnd@end <= cwnd@1 + 2 alpha", PROVED),  # at most a packet more each R
    ("aimd", "cwnd@end <= cwnd@1", REFUTED),
]


@pytest.mark.parametrize(("cca", "claim", "outcome"), TRIVIAL)
def test_cases_computed_by_hand(cca: str, claim: str, outcome: ProofOutcome, tmp_path: Path) -> None:
    if cca == "idle":
        cca = str(tmp_path / "idle.toml")
        Path(cca).write_text('name = "idle"\nbeliefs = "ccac"\nbranch = [{ rate = "alpha" }]\n')
    found = verify(case(cca, claim, 4), Budget(30))
    assert found.outcome is outcome, found.answer.reason


def by_hand(growth: Fraction, rate: Fraction) -> tuple[bool, bool]:
    """Ask z3 about the rule `2 C_L` on an ideal link, with a separate encoding.

    Returns
    -------
    Whether queue(3) <= queue(0) + growth always holds; and whether this or rate(3) <= rate always holds
    """
    steps = range(1, 4)
    alpha = z3.Real("a")
    sent, served, bound, speed = ([z3.Real(f"{name}{t}") for t in range(4)] for name in ("sent", "served", "C", "r"))
    solver = z3.Solver()
    solver.add(alpha > 0, alpha < z3.Q(1, 5), served[0] == 0, sent[0] >= 0, bound[0] >= alpha, bound[0] <= 1)
    for t in steps:
        doubled = 2 * bound[t - 1]
        solver.add(speed[t] == z3.If(doubled > alpha, doubled, alpha), sent[t] == sent[t - 1] + speed[t])
        served_all, served_c = sent[t], served[t - 1] + 1
        solver.add(served[t] == z3.If(served_c < served_all, served_c, served_all))
        best = bound[t - 1]
        for s in range(t):
            seen = (served[t] - served[s]) / (t - s)
            best = z3.If(seen > best, seen, best)
        solver.add(bound[t] == best)
    grows = sent[3] - served[3] <= sent[0] - served[0] + z3.Q(*growth.as_integer_ratio())
    found = []
    for claim in (grows, z3.Or(grows, speed[3] <= z3.Q(*rate.as_integer_ratio()))):
        solver.push()
        solver.add(z3.Not(claim))
        found.append(solver.check() == z3.unsat)
        solver.pop()
    return found[0], found[1]


@pytest.mark.parametrize(
    ("growth", "rate"),
    [
        (Fraction(*n), Fraction(*r))
        for n, r in [((3, 1), (1, 1)), ((299, 100), (2, 1)), ((1, 1), (1, 1)), ((2, 1), (3, 2))]
    ],
)
def test_an_independent_query_gives_the_same_answers(growth: Fraction, rate: Fraction, tmp_path: Path) -> None:
    rule = tmp_path / "double.toml"
    rule.write_text('name = "double"\nbeliefs = "ccac"\nbranch = [{ rate = "2 C_L" }]\n')
    alone = f"queue@end <= queue@0 + {growth}"
    expected = by_hand(growth, rate)
    for claim, holds in zip((alone, f"{alone} or rate@3 <= {rate}"), expected, strict=True):
        found = verify(case(str(rule), claim, 4, model="ideal"), Budget(30))
        assert found.outcome is (PROVED if holds else REFUTED), claim


def test_a_chain_names_each_flow_and_moves_only_its_ends() -> None:
    chain = parse_comparison("69/100 <= C_L@end <= 301/100")
    weaker = chain.weaker(Fraction(1, 2))
    assert weaker is not None
    assert weaker.text == "69/200 <= C_L@end <= 903/200"
    falls = parse_comparison("bq@end <= bq@0 - 1/2").weaker(Fraction(1, 5))
    assert falls is not None
    assert falls.text == "bq@end <= bq@0 - 2/5"
    assert parse_comparison("rate@end >= rate@1").weaker(Fraction(1, 2)) is None
    two = Case(
        find_subject("expo"), "cbr-delay", parse_claim("rate.0@end <= 100 rate.1@end"), Grid(4), Buffer.INFINITE, 2
    )
    assert verify(two, Budget(30)).outcome is REFUTED


@pytest.mark.parametrize(
    ("claim", "assumed", "outcome"),
    [
        ("qdel_L@end <= 3", (), REFUTED),
        ("qdel_L@end <= 3 and cwnd@3 <= cwnd@1 + 2 alpha", (), REFUTED),
        ("3 >= qdel_L@end", ("qdel_L<=2",), REFUTED),
        ("qdel_L@end = 3", ("qdel_L>=3",), REFUTED),
        ("qdel_L@end >= 3", ("qdel_L@end>=100",), VACUOUS),
        ("qdel_L@end <= qdel_L@0 + 1", ("qdel_L>=3",), REFUTED),
        ("cwnd@3 <= cwnd@1 + 2 alpha", ("qdel_L@0 > qdel_L@1",), PROVED),
        ("cwnd@3 <= cwnd@1 + 2 alpha", ("qdel_L@0 > 7", "qdel_L@1 > qdel_L@0"), PROVED),
    ],
)
def test_delays_as_long_as_the_trace_are_of_any_length(
    claim: str, assumed: tuple[str, ...], outcome: ProofOutcome
) -> None:
    """The model has one number for all delays of at least the trace's length, so the queue may have any length."""
    assert verify(case("aimd", claim, 4, *assumed), Budget(30)).outcome is outcome


def test_the_output_names_the_flows_and_the_end_of_the_delays() -> None:
    """With two flows, a claim without a flow's number is about each flow. Delays of T steps or more have one number."""
    text = "rate@end <= 2 or qdel_L@end <= 3"
    assumed = (parse_assumption("rate<=1"), parse_assumption("bq<=1"), parse_assumption("qdel_L.1>=3"))
    two = Case(find_subject("expo"), "cbr-delay", parse_claim(text), Grid(4), Buffer.INFINITE, 2, assumed)
    ends = "a qdel_L of 3 stands for all from there on"
    assert two.claim.statement(two.system) == (
        f"[rate@3 <= 2, C = R = 1, of every flow] or [qdel_L@3 <= 3, C = R = 1, of every flow, {ends}]"
    )
    given = ["rate <= 1 at the start, of every flow", "bq <= 1 at the start", f"qdel_L.1 >= 3 at the start, {ends}"]
    assert two.assumed()[-3:] == given
    alone = case("expo", "rate@end <= 2", 4, "rate<=1")
    assert (alone.claim.statement(alone.system), alone.assumed()[-1]) == (
        "rate@3 <= 2, C = R = 1",
        "rate <= 1 at the start",
    )


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_claim_that_was_printed_can_be_asked_again(name: str) -> None:
    claim = parse_claim(name)
    assert parse_claim(claim.text) == claim
    assert parse_claim(f"{claim.text} or queue") == Joined("or", (claim, parse_claim("queue")))
    with pytest.raises(ConfigError, match=r"not a property: .*furlongs`"):
        parse_claim(f"{claim.text.partition('=')[0]}= 1 furlongs")


@settings(max_examples=300, deadline=None)
@example("queue")
@given(st.text(alphabet="quertaC_L@end0123/. <>=+-*()|orinvs,", max_size=40))
def test_any_text_is_a_claim_or_one_clear_error(text: str) -> None:
    for read in (parse_claim, parse_assumption):
        try:
            claim = read(text)
        except ConfigError as error:
            assert error.message
        else:
            assert read(claim.text.replace(" at the start", "")).text == claim.text
