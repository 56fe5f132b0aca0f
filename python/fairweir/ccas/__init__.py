"""Congestion controllers: the base class of Python ones, names and parameters, rules, generated kernel C, skeletons."""
