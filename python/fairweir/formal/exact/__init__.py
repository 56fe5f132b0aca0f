"""The models by definition, in exact fractions: judges traces and generates random ones, without a solver.

Nothing here calls z3 or shares code with the encodings, so that they can be compared.
"""

from fairweir.formal.exact.judge import Decider, violations
from fairweir.formal.exact.report import NETWORK, Report, Violation
from fairweir.formal.exact.sample import sample

__all__ = ["NETWORK", "Decider", "Report", "Violation", "sample", "violations"]
