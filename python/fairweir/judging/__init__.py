"""What measurements amount to: metrics of a run, intervals of a mean, the outcome of a claim."""
