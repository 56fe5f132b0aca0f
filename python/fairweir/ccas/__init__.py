"""Congestion controllers: the base class for Python, names and parameters, rules, generated kernel C, skeletons."""
