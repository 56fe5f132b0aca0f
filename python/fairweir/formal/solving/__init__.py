"""Ask the solvers z3 and yices questions in SMT-LIB, and read their answers."""
