"""Explain a packet capture: the path of each flow, the conditions that limited the flow over time, figures and a
report.
"""

from fairweir.callable import make_callable

make_callable(__name__, "fairweir.explain.explanation", "explain")
