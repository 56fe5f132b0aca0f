"""The hunt for the smallest jitter that starves a flow: where it looks, how it searches, what it comes back with."""
