"""Figures, tables and theorems of the papers that functions compute; the catalogue names them for ``reproduce``."""
