"""Hashes of the queries to solvers and of the exact evaluator's results, to compare two versions of the encodings.

    python benches/question_texts.py > before.json     (then change something)
    python benches/question_texts.py before.json       (prints the differences; exit status 1 if there are any)

Hashed are, for each CCA that can be verified and each model and buffer, the text of the question and its controls, the
claim in words and the assumptions; random traces of each model, and the violations that the evaluator finds when one
number of a trace is changed; and the kernel C of each rule. A certificate is determined by its question's text and the
solvers' versions.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from fairweir.ccas.generate import controller, decision_header
from fairweir.ccas.rule import Rule, find_rule
from fairweir.errors import FairweirError
from fairweir.formal.beliefs import Expiry, Start, soundness
from fairweir.formal.claims.syntax import parse_claim
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.senders import Sender
from fairweir.formal.exact import violations
from fairweir.formal.hand_encoded import HAND_ENCODED
from fairweir.formal.lemmas.trial import make
from fairweir.formal.models import MODELS, NETWORKS
from fairweir.formal.solving.solve import Question
from fairweir.formal.verdicts.subjects import find_subject, rule_names
from fairweir.formal.verdicts.verify import Case

CLAIMS = ("utilization", "queue", "loss-events", "invariant", "bq@end <= bq@0 or queue<=4")
SENDERS = ((Sender.RATE,), (Sender.WINDOW,), (Sender.RATE, Sender.RATE))
SEEDS = range(6)


def questions() -> Iterator[tuple[str, str]]:
    """Yield the questions about each CCA by name; if a question raises an error, yield the error's text."""
    terms = [(Start.CONSISTENT, Expiry.NEVER), (Start.ANY, Expiry.AT_END)]
    for cca in (*rule_names(), *HAND_ENCODED):
        for start, expiry in terms[: 2 if cca in rule_names() else 1]:
            subject = find_subject(cca, start, expiry)
            for model in MODELS:
                for buffer in Buffer:
                    for claim in map(parse_claim, CLAIMS):
                        case = Case(subject, model, claim, Grid(4), buffer)
                        try:
                            asked = case.question(claim)
                            words = [claim.statement(case.system), *case.assumed()]
                            text = "\n".join([asked.negated(), *asked.controls(), *words])
                        except FairweirError as error:
                            text = error.render()
                        yield f"{cca} {start} {model} {buffer} {claim.text}", text


def bounds() -> Iterator[tuple[str, str]]:
    """Yield the questions whether beliefs are sound, and their controls."""
    for bound in (*soundness.bounds(Grid(4)), *soundness.controls(Grid(4))):
        yield bound.name, Question(bound.name, bound.system.assertions(), bound.holds).negated()


def traces() -> Iterator[tuple[str, str]]:
    """Yield random traces, and the violations in changed traces."""
    for model in NETWORKS:
        for buffer in Buffer:
            for senders in SENDERS:
                for seed in SEEDS:
                    trace = make(model, Grid(5), buffer, seed, senders)
                    moved = trace.model_copy(update={"TA": tuple(x + Fraction(t, 7) for t, x in enumerate(trace.TA))})
                    found = "\n".join(map(str, violations(moved)))
                    yield f"trace {model} {buffer} {' '.join(senders)} {seed}", trace.to_json() + found


def sources() -> Iterator[tuple[str, str]]:
    """Yield the kernel C of each rule."""
    for name in rule_names():
        rule = Rule.load(find_rule(name))
        yield f"C of {name}", controller(rule) + decision_header(rule)


def main() -> int:
    """Print the hashes, or the differences from the hashes in a file."""
    parts = (questions(), bounds(), traces(), sources())
    now = {name: hashlib.sha256(text.encode()).hexdigest() for part in parts for name, text in part}
    if len(sys.argv) < 2:
        sys.stdout.write(json.dumps(now, indent=0) + "\n")
        return 0
    before = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    changed = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    sys.stdout.write("".join(f"{name}\n" for name in changed) + f"{len(changed)} of {len(now)} differ\n")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
