"""Functions that compute figures, tables and theorems of the papers; ``catalogue`` lists them for ``reproduce``."""
