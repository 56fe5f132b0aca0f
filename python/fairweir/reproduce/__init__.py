"""Run published experiments, and compare fairweir's results with the published results."""
