"""Network models as linear arithmetic: questions to solvers, exact traces, and proofs.

Packages, each importing only those above it:

encoding : a question's variables and constraints, traces, properties, rules, the synthesis invariant
exact : models, beliefs, senders and the invariant by definition, in exact fractions; checks traces, draws random ones
models, beliefs : network models and families of beliefs for solvers, one file each
hand_encoded : CCAs that are not rules, for solvers and by definition
solving, certificates : solvers and their answers; proofs that a checker without dependencies accepts
claims : what a trace is claimed to satisfy, and how the command line writes it
replay : traces in packets, in the simulator
verdicts : from a CCA, a model and a claim to a verdict with its evidence (``fairweir verify``)
lemmas : suites of lemmas that together imply a result (``fairweir prove``)
frcc : the lemmas of FRCC; `main` has those of its main update
"""
