"""Figures and tables of the thesis, chapters 4, 6 and 7."""
