"""Explanation of a capture: its flows' paths, what limited them over time, figures, a report."""

from fairweir.callable import make_callable

make_callable(__name__, "fairweir.explain.explanation", "explain")
