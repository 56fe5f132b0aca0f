"""The models' definitions, evaluated in exact fractions without a solver: they judge traces and generate random ones.

This package neither calls z3 nor shares code with the encodings, so each can be tested against the other.
"""

from fairweir.formal.exact.judge import Decider, violations
from fairweir.formal.exact.report import NETWORK, Report, Violation
from fairweir.formal.exact.sample import sample

__all__ = ["NETWORK", "Decider", "Report", "Violation", "sample", "violations"]
