"""Construct networks in which a CCA starves a flow: theorems 1 to 3 of the starvation paper, for CCAs in the simulator.

Starvation means that bounded jitter makes the throughput ratio of two flows of one CCA exceed a required ratio.
"""

from fairweir.starvation.construction import starve
from fairweir.starvation.result import Starvation

__all__ = ["Starvation", "starve"]
