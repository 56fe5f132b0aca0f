"""A shipped model, whose definition is a file of its own in :mod:`fairweir.formal.exact.networks`."""

from __future__ import annotations

from collections.abc import Iterable

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.networks import definition_named
from fairweir.formal.exact.report import Violation
from fairweir.formal.models.model import Model


class Shipped(Model):
    """A model that is judged by the definition of its name, which shares nothing with this encoding."""

    @property
    def definition(self) -> Definition:
        """The judge of its traces."""
        return definition_named(self.name)

    def violations(self, trace: Trace) -> Iterable[Violation]:
        """Check TA and S of a trace by definition."""
        return self.definition.link(trace)
