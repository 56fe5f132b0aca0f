"""Judge measurements: compute metrics of a run, confidence intervals of a mean, and the outcome of a claim."""
