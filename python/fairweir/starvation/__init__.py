"""Starvation by construction: theorems 1 and 2 of the starvation paper, made to work for any CCA in the simulator."""

from fairweir.starvation.construction import starve
from fairweir.starvation.result import Starvation

__all__ = ["Starvation", "starve"]
