"""Proof that the main cwnd update of the CCA FRCC bounds the throughput ratio of flows under jitter.

The state space is divided into cells; a compiled search finds an attractor, a set of cells that every run reaches and
does not leave. docs/formal/frcc-main.md has the theorem.
"""
