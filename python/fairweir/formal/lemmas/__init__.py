"""Lemmas about CCAs, which solvers prove or refute, and the check that a suite of lemmas implies a result.

A lemma is a claim about all traces of one CCA on one network model. A trace lists the values of all quantities (bytes
sent, served and lost, cwnd, ...) at equally spaced points in time.
"""
