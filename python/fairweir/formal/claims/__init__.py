"""Claims about traces: bounds, comparisons at sample points, the invariant; how the command line writes them."""
