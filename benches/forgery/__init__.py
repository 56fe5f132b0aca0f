"""Attack both checkers of certificates with forged, mutated and spliced certificates, and with modified questions.

    python -m benches.forgery --attempts 1000000 --seed 0 --workers 2

z3 determines which of the random questions are satisfiable, and `certify` proves that the others are unsatisfiable.
Each attempt is a question and a certificate. The certificate consists of random steps, or is the proof of another
question, or is one of these with errors; the question may have errors, too. Two results are failures. They are printed,
and the exit status is then 1:

- a checker accepts a question that z3 finds satisfiable or cannot parse;
- the checkers disagree: only one accepts, they count different numbers of steps, or they reject at different lines.
"""
