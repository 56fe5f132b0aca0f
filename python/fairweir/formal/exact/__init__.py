"""Definitions of network models, beliefs and senders in exact fractions, which check traces without a solver.

A trace is the value of each curve (such as bytes sent, served and lost) of a network at each sample point. The
functions here decide whether a model allows a trace, and draw random traces of a model. Solvers find traces by other
code, the encoding (:mod:`fairweir.formal.encoding`). This package does not call z3 and has no constraint in common with
the encoding, so each of the two can be tested against the other.

A belief is a bound on the network that a flow infers from what it observes.
"""

from fairweir.formal.exact.judge import Decider, violations
from fairweir.formal.exact.report import NETWORK, Report, Violation
from fairweir.formal.exact.sample import sample

__all__ = ["NETWORK", "Decider", "Report", "Violation", "sample", "violations"]
