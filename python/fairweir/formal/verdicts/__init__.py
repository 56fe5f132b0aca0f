"""``fairweir verify``: from a claim about a CCA on a network model to a verdict, with the evidence for the verdict."""
