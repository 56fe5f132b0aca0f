"""A shipped model; a separate file in :mod:`fairweir.formal.exact.networks` defines it."""

from __future__ import annotations

from collections.abc import Iterable

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.networks import definition_named
from fairweir.formal.exact.report import Violation
from fairweir.formal.models.model import Model


class Shipped(Model):
    """A model whose traces are judged by the definition of the same name, which shares no code with the encoding."""

    @property
    def definition(self) -> Definition:
        """The definition that judges the model's traces."""
        return definition_named(self.name)

    def violations(self, trace: Trace) -> Iterable[Violation]:
        """Check TA and S of a trace by definition."""
        return self.definition.link(trace)
