"""Questions to solvers: SMT-LIB, z3 and yices raced, answers."""
