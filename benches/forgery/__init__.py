"""Attack both checkers of certificates: forged, mutated and spliced certificates, questions that were tampered with.

    python -m benches.forgery --attempts 1000000 --seed 0 --workers 2

Random questions are made as text, z3 says which of them can be met, and `certify` proves the others. Each attempt is a
question and a certificate: steps put together at random, the proof of another question, or one of those with mistakes,
of which the question may have some too. Two things are failures, which end the run with exit code 1 and are printed:

- a checker accepts, and z3 finds that the question can be met, or cannot read it;
- the checkers disagree: only one accepts, they count different steps, or they reject at different lines.
"""
