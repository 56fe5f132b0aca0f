"""Base class of the network models that are part of fairweir.

A shipped model has two definitions: constraints for solvers, in :mod:`fairweir.formal.models`, and a check of traces in
exact fractions, in a file of the same name in :mod:`fairweir.formal.exact.networks`. A trace is the value of each
curve, such as the cumulative bytes served (S), at each sample point. TA is the cumulative bytes that have left the
bottleneck's queue or, on a CCAC link (a token bucket with jitter), the tokens admitted.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.networks import definition_named
from fairweir.formal.exact.report import Violation
from fairweir.formal.models.model import Model


class Shipped(Model):
    """A model whose traces are checked by a definition that shares no code with the model's constraints for solvers."""

    @property
    def definition(self) -> Definition:
        """The definition that checks the model's traces."""
        return definition_named(self.name)

    def violations(self, trace: Trace) -> Iterable[Violation]:
        """Yield a violation for each condition on TA and S that a trace violates."""
        return self.definition.link(trace)
