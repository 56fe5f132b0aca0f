"""Explain a capture: the paths of its flows, what limited each flow over time, figures and a report."""

from fairweir.callable import make_callable

make_callable(__name__, "fairweir.explain.explanation", "explain")
