"""Attacks on the checkers: forbidden contents of questions and certificates."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from benches.forgery.attack import attack
from benches.forgery.edges import exhaust, lengthen

from fairweir.errors import InvariantError
from fairweir.formal.certificates import certificate, checker
from fairweir.formal.certificates.certificate import CHECKERS
from fairweir.formal.certificates.checker import RejectedError

Checker = Callable[[str, str], int]


@pytest.fixture(params=CHECKERS)
def accept(request: pytest.FixtureRequest) -> Checker:
    return CHECKERS[request.param]


def ask(*commands: str) -> str:
    """Return a question on Booleans p, q and variables x, y."""
    head = "(set-logic QF_LRA)(declare-fun p () Bool)(declare-fun q () Bool)(declare-fun x () Real)"
    return "\n".join([head, "(declare-fun y () Real)", *commands, "(check-sat)", ""])


#: Literals: p 2, q 3, x <= 1 4; clauses: 1 is true, 2 is x <= 1.
SATISFIABLE = ask("(assert (<= x 1))")
#: Clause 3 is x > 2, which is literal 5 denied.
CONTRADICTION = ask("(assert (<= x 1))", "(assert (> x 2))")
PROOF = "f 4 -4 5 0 1 1\nr 5 0 2 3 4\n"

FORGED = {
    "00 for 0": "r 3 00 0\nr 4 0 3 3",
    "-0 for 0": "r 3 -0 0\nr 4 0 3 3",
    "+0 for 0": "r 3 +0 0\nr 4 0 3 3",
    "0_0 for 0": "r 3 0_0 0\nr 4 0 3 3",
    "another script's 0": "r 3 \u0660 0\nr 4 0 3 3",
    "a form feed in 0": "r 3 0\f 0\nr 4 0 3 3",
    "0 as a number of a clause": "r 3 0 0",
    "a negative number of a clause": "r 3 0 -1",
    "the clause itself": "r 3 0 3",
    "a clause that comes later": "r 3 0 4\nr 4 0 3",
    "a literal that does not exist": "r 3 900 -900 0 1\nr 4 0 3",
    "a tautology": "r 3 2 -2 0 1\nr 4 0 3",
    "a factor with an exponent": "f 3 -4 0 1e0\nr 4 0 2 3",
    "a factor that is not reduced": "f 3 -4 0 2/2\nr 4 0 2 3",
    "a division by zero": "f 3 -4 0 1/0\nr 4 0 2 3",
    "no number": "f 3 -4 0 nan\nr 4 0 2 3",
    "infinity": "f 3 -4 0 inf\nr 4 0 2 3",
    "a Boolean as a lemma": "f 3 2 0 1\nr 4 0 2 3",
    "a lemma of nothing": "f 3 0",
    "factors all zero": "f 3 -4 0 0\nr 4 0 2 3",
    "an atom of nothing": "a 5 lt 0\nf 3 5 0 1\nr 4 0 3",
    "an atom of a Boolean": "a 5 lt 0 p 1\nr 3 0 1",
    "an atom of a choice that is not there": "a 5 lt 0 #1 1\nr 3 0 1",
    "an atom twice": "a 5 le 1 x 1\nr 3 0 1",
    "a variable twice": "a 5 le 1 x 1 x -1\nr 3 0 1",
    "a coefficient of zero": "a 5 le 1 x 1 y 0\nr 3 0 1",
    "a word of digits without end": f"r 3 0 {'9' * 100_000}",
    "a factor without end": f"f 3 -4 0 {'9' * 100_000}",
    "factors that grow": f"f 3 {' '.join(['-4', '4'] * 50)} 0 {' '.join(['9' * 1000] * 100)}",
    "a NUL": "r 3 0\x00 1",
    "a comment": "c an empty clause\nr 3 0",
}


@pytest.mark.parametrize("name", FORGED)
def test_no_certificate_refutes_what_can_be_met(accept: Checker, name: str) -> None:
    for end in ("", "\n"):
        with pytest.raises(RejectedError):
            accept(SATISFIABLE, FORGED[name] + end)


def test_the_proof_of_a_contradiction_is_accepted(accept: Checker) -> None:
    assert accept(CONTRADICTION, PROOF) == 2
    assert accept(CONTRADICTION, PROOF.removesuffix("\n")) == 2


#: The same proof, in malformed syntax: each would be valid under a lenient parser.
MISSPELT = {
    "a sign": PROOF.replace(" 1 1", " +1 1"),
    "a leading zero": PROOF.replace(" 2 3 4", " 02 3 4"),
    "an underscore": PROOF.replace("f 4", "f 0_4"),
    "a fraction of one": PROOF.replace(" 1 1", " 1/1 1"),
    "a decimal": PROOF.replace(" 1 1", " 1.0 1"),
    "another script's digits": PROOF.replace("1 1", "\u0661 1"),
    "two spaces": PROOF.replace("0 1", "0  1"),
    "a space at the end": PROOF.replace("1\n", "1 \n"),
    "a tab": PROOF.replace("0 1", "0\t1"),
    "a no-break space": PROOF.replace("0 1", "0\xa01"),
    "a carriage return": PROOF.replace("\n", "\r\n"),
    "a line separator": PROOF.replace("1\nr", "1\u2028r"),
    "an empty line": "\n" + PROOF,
    "an empty line at the end": PROOF + "\n",
    "a byte order mark": "\ufeff" + PROOF,
    "another number": PROOF.replace("f 4", "f 9").replace("3 4", "3 9"),
    "a step behind the end": PROOF + "r 6 0 2 3 4\n",
    "one literal twice": PROOF.replace("-4 5 0 1 1", "-4 5 5 0 1 1 0"),
    "factors that are missing": PROOF.replace(" 1 1", " 1"),
    "a factor too many": PROOF.replace(" 1 1", " 1 1 0"),
    "no end of the clause": PROOF.replace("r 5 0 2", "r 5 2"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_each_number_and_each_step_is_written_in_one_way(accept: Checker, name: str) -> None:
    assert MISSPELT[name] != PROOF
    with pytest.raises(RejectedError):
        accept(CONTRADICTION, MISSPELT[name])


#: Questions with `false` at positions where solvers interpret it differently, or may do so.
REFUSED = {
    "a string": ask('(set-info :source ") (assert false) (set-info :note ")'),
    "a quoted symbol": ask("(set-info :source |) (assert false) (set-info :note |)"),
    "a comment": ask("; (assert\n(assert false)"),
    "a comment with a carriage return": ask("(assert true) ; \r (assert false)"),
    "an option": ask("(set-option :global-declarations true)(assert false)"),
    "a name for true": ask("(declare-fun true () Bool)(assert (not true))"),
    "true bound": ask("(assert (let ((true false)) true))"),
    "a connective bound": ask("(assert (let ((and p)) (and false)))"),
    "a number as a name": ask("(declare-fun 1 () Real)(assert (< 1 0))(assert false)"),
    "a leading zero": ask("(assert (= 01 0))"),
    "another script's digit": ask("(assert (= \u0660 1))"),
    "a name with a bracket": ask("(declare-fun |(ite 1)| () Real)(assert false)"),
    "a choice's own name": ask("(declare-fun #1 () Real)(assert false)"),
    "a name twice in a let": ask("(assert (let ((a true) (a false)) a))"),
    "a second declaration": ask("(declare-fun p () Real)(assert false)"),
    "a definition": ask("(define-fun t () Bool false)(assert t)"),
    "scopes": ask("(push 1)(assert false)(pop 1)"),
    "an assertion behind the question": ask() + "(assert false)",
    "two questions": ask("(assert false)", "(check-sat)"),
    "assumptions": ask("(assert p)").replace("(check-sat)", "(check-sat-assuming ((not p)))"),
    "no question": ask("(assert false)").replace("(check-sat)", ""),
    "a reset": ask("(assert false)(reset-assertions)"),
    "another logic": ask("(assert false)").replace("QF_LRA", "QF_LIA"),
    "a logic in the middle": ask("(set-logic QF_LRA)(assert false)"),
    "whole numbers": ask("(declare-fun n () Int)(assert (and (< 0 n) (< n 1)))"),
    "a function": ask("(declare-fun f (Real) Real)(assert false)"),
    "a product of unknowns": ask("(assert (< (* x x) 0))"),
    "a division by zero": ask("(assert (distinct (/ x 0) (/ x 0)))"),
    "a division by an unknown": ask("(assert (distinct (/ 1 x) (/ 1 x)))"),
    "an undeclared word": ask("(assert (and z (not z)))"),
    "a name": ask("(assert (! false :named a))"),
    "a number as a formula": ask("(assert 1)"),
    "a formula as a number": ask("(assert (< p 0))"),
    "a choice of both": ask("(assert (= x (ite p x q)))"),
    "nothing is chosen": ask("(assert (or))"),
    "an open bracket": "(assert (and false",
    "a bracket too many": ask(")(assert false)"),
    "a word outside of brackets": ask("p (assert false)"),
    "a no-break space": ask("(assert\xa0false)"),
    "a tab": ask("(assert\tfalse)"),
    "a NUL": ask("(assert false)\x00"),
    "brackets without end": ask(f"(assert {'(not ' * 100_000}false{')' * 100_000})"),
    "brackets that never close": "(" * 1_000_000,
    "a let in a let": ask(f"(assert {''.join(f'(let ((a{i} p)) ' for i in range(5000))}false{')' * 5000})"),
    "a number without end": ask(f"(assert (< {'9' * 100_000} 0))"),
    "a number that squares itself": ask(
        f"(assert {''.join(f'(let ((a{i} (* a{i - 1} a{i - 1}))) ' for i in range(1, 60))}(< a59 0){')' * 59})".replace(
            "a0", "3"
        )
    ),
    "a number that divides itself": ask(
        f"(assert {''.join(f'(let ((a{i} (/ a{i - 1} (/ 1 a{i - 1})))) ' for i in range(1, 60))}"
        f"(< a59 0){')' * 59})".replace("a0", "3")
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_questions_outside_of_the_language_are_rejected(accept: Checker, name: str) -> None:
    for number in range(2, 6):
        with pytest.raises(RejectedError, match=r"^(?!line)"):
            accept(REFUSED[name], f"r {number} 0 1 {number - 1}")


def test_rejected_input_is_quoted_without_control_characters(accept: Checker) -> None:
    with pytest.raises(RejectedError) as caught:
        accept(ask("(assert \x1b[2J)"), PROOF)
    assert str(caught.value).isprintable()
    with pytest.raises(RejectedError) as caught:
        accept(CONTRADICTION, "f 4 \x1b[2J 0 1")
    assert str(caught.value).isprintable()


def test_a_proof_counts_when_both_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = PROOF.splitlines()
    assert certificate.accept(CONTRADICTION, lines) == 2
    with pytest.raises(RejectedError):
        certificate.accept(SATISFIABLE, lines)

    def gullible(question: str, text: str) -> int:
        return 2

    def other(question: str, text: str) -> int:
        return 3

    for name in CHECKERS:
        for wrong, question in ((gullible, SATISFIABLE), (other, CONTRADICTION)):
            monkeypatch.setattr(certificate, "CHECKERS", {**CHECKERS, name: wrong})
            with pytest.raises(InvariantError, match=f"contradict each other.*{name}: {wrong('', '')}"):
                certificate.accept(question, lines)


def test_the_checker_ends_cleanly_whatever_its_files_are(tmp_path: Path) -> None:
    question, certificate = tmp_path / "q", tmp_path / "c"
    question.write_text(CONTRADICTION, encoding="ascii")
    certificate.write_bytes(PROOF.encode() + b"\xff")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", checker.__file__, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run(question, certificate).returncode == 1
    for wrong in ([question], [question, tmp_path / "nowhere"], [question, tmp_path]):
        ended = run(*wrong)
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


#: Operations that count as work: sums, products, quotients, comparisons, choices, large numbers; all with x0 to x4.
WORK = {
    "comparisons": "(and (< (+ x0 x1 2) (- x2 x3 x4)) (>= x0 x2 ) (distinct (- x1) 0.25))",
    "products": "(<= (* 2 (+ x0 0.5) 3) (* x1 0 (/ 7 3)))",
    "choices": "(= (ite p x0 (ite q (+ x1 x0) 0)) x3)",
    "large numbers": f"(< (* {'9' * 500} (+ x1 x0)) (/ x2 {'7' * 600}))",
    "the least word": "(< (* (- 9223372036854775808) x0) (- x1 9223372036854775808))",
    "names": "(let ((a (+ x0 x1)) (b 0)) (< (* a 3) (- b a)))",
    "nothing left": "(or (< (- x0 x0) 0) (= (+ x1 0) x1))",
}


@pytest.mark.parametrize("name", WORK)
def test_both_checkers_count_the_same_work(name: str) -> None:
    declared = "".join(f"(declare-fun x{i} () Real)" for i in range(5))
    question = lengthen(ask(declared, "(assert (<= x 1))", "(assert (> x 2))", f"(assert {WORK[name]})"))
    problem = checker.read(question)
    first, bound = len(problem.clauses) + 1, problem.literals + 1
    proof = [f"a {bound} lt 3/2 x 1", f"f {first} -4 {bound} 0 1/3 1/3", f"f {first + 1} -4 5 0 1 1"]
    lines = [*proof, f"r {first + 2} 0 2 3 {first + 1}"]
    for accept in CHECKERS.values():
        for units in (-1, 0):
            assert accept(question, "\n".join(exhaust(question, lines, units)) + "\n") == 5
        with pytest.raises(RejectedError, match=r"^line 5: more work than texts of this length may ask for"):
            accept(question, "\n".join(exhaust(question, lines, 1)) + "\n")


def test_some_thousand_forgeries_find_nothing() -> None:
    """Run a few thousand of the million attempts of ``python -m benches.forgery``."""
    tally = attack("tests", limit=4000, size=12)
    assert tally.failures == []
    assert tally.attempts == 4000
    # The attack must accept some proofs and have satisfiable questions; otherwise it could not find failures.
    assert tally.kinds["proved: accepted"] > 50
    assert min(tally.kinds["exhausted: accepted"], tally.kinds["exhausted: rejected"]) > 5
    assert all(tally.kinds[f"{kind}: rejected"] > 100 for kind in ("weakened", "spliced", "forged", "recited", "asked"))


def test_the_forgeries_find_a_checker_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def gullible(question: str, text: str) -> int:
        try:
            return checker.accept(question, text)
        except RejectedError as error:
            if "propagation: no contradiction" in str(error):
                return text.removesuffix("\n").count("\n") + 1
            raise

    for wrong in (CHECKERS, dict.fromkeys(CHECKERS, gullible)):
        monkeypatch.setattr("benches.forgery.attack.CHECKERS", {**wrong, "fairweir-checker": gullible})
        assert attack("tests", limit=300, size=4).failures
