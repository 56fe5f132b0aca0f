"""Certificates of unsatisfiability, and the checker that shares no code with what makes them."""
