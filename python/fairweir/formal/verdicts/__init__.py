"""From a claim about a CCA on a model to a verdict with its evidence (``fairweir verify``)."""
