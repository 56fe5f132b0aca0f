"""Judgement of measurements: metrics of a run, intervals of a mean, the outcome of a claim."""
