"""Computations of figures, tables and theorems in chapters 4, 6 and 7 of the thesis."""
