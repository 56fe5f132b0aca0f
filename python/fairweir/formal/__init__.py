"""Network models in linear arithmetic: questions to solvers, exact traces, and proofs.

A trace is the behavior of a network and its flows at a series of sample points. A question is whether a network model
allows a trace that violates a claim. A belief is a bound on the network that a flow infers from what it observes. A
rule is a congestion control algorithm (CCA) whose rate is a function of beliefs. The synthesis invariant is the
condition that each trace of a candidate rule must satisfy.

Packages, each of which imports only packages above it:

encoding : questions as variables and constraints; traces, properties, rules and the synthesis invariant
exact : models, beliefs, senders and the invariant in exact fractions; checks traces and draws random traces
models, beliefs : network models and families of beliefs for solvers, one file each
hand_encoded : CCAs that are not rules, for solvers and in exact fractions
solving, certificates : solvers and their answers; proofs that a checker without dependencies accepts
claims : claims about traces, and their syntax on the command line
replay : replays of traces as packets in the simulator
verdicts : from a CCA, a model and a claim to a verdict with its evidence (``fairweir verify``)
lemmas : suites of lemmas that together imply a result (``fairweir prove``)
frcc : the lemmas of the CCA FRCC; `frcc.main` has the lemmas of FRCC's main update
"""
