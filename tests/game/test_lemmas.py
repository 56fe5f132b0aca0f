"""Lemmas of the model are proved and certified; simulated links satisfy the belief model."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import z3

from fairweir.ccas.controller_file import LinkRange
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.game.lemmas import lemmas, prove_lemmas
from fairweir.game.model import Path, Terms, Window, bounds, explains, number
from fairweir.game.windows import RunningLink, random_windows

F = Fraction


def test_all_lemmas_are_proved_with_certificates() -> None:
    found = prove_lemmas(with_certificates=True)
    assert len(found) == len(list(lemmas())) == 12
    assert {one.answer.outcome for one in found} == {ProofOutcome.PROVED}
    assert all(one.certificate is not None for one in found)


def test_the_truth_is_in_the_belief_set() -> None:
    for c, b, rate in ((F(5), F(3), F(6)), (F(3), F(20), F(5)), (F(12), F(1), F(12))):
        link = RunningLink(c, b)
        for t in range(7):
            link.step(rate, F(t % 2))
        window = link.window(6, rate)
        known = bounds(window, LinkRange())
        assert known is not None
        link.step(rate, F(1))
        assert known.c[0] <= c <= known.c[1]
        assert known.b[0] <= b <= known.b[1]
        assert known.q[0] <= link.queue <= known.q[1]
        assert known.safe_rate <= c + b - link.queue


def test_bounds_are_attained_and_tight() -> None:
    for window in islice(random_windows(3, LinkRange(), 5), 4):
        known = bounds(window, LinkRange())
        assert known is not None
        path = Path.named("", 5)
        solver = z3.Solver()
        solver.add(*explains(path, Terms.of(window), LinkRange()))
        for value, low, high in ((path.c, *known.c), (path.b, *known.b), (path.queue, *known.q)):
            for end in (low, high):
                assert solver.check(value == number(end)) == z3.sat
            assert solver.check(z3.Or(value < number(low), value > number(high))) == z3.unsat


def test_a_window_that_no_link_explains_has_no_bounds() -> None:
    # More is delivered than was sent.
    zeros = (F(0),) * 6
    assert bounds(Window(zeros, (F(0), F(0), F(0), F(0), F(0), F(1)), zeros, 6, F(0), F(0)), LinkRange()) is None
