"""Certificates of unsatisfiability, and a checker that shares no code with their generation."""
