"""Network models as linear arithmetic: questions to solvers, exact traces, and proofs."""
