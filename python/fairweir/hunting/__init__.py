"""The hunt for starvation: it searches for the minimum jitter on one flow that starves a flow of the same CCA."""
