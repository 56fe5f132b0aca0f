"""Ask the SMT solvers z3 and yices questions as SMT-LIB text, and read the solvers' answers."""
