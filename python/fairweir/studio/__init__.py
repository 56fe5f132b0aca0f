"""A local web page on which a scenario is edited and its results are drawn at once (``fairweir studio``)."""
