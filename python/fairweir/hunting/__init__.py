"""The hunt for the minimum jitter that starves a flow: search space, search, result."""
