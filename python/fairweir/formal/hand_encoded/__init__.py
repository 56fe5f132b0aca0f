"""Congestion control algorithms (CCAs) encoded by hand, as in CCAC (SIGCOMM 2021).

The CCAs in this package are not rules. A rule computes a rate from a flow's bounds on the network, and has no other
state. Each CCA has constraints for solvers, and a check of traces in exact fractions.

A trace is the behavior of a network and its flows: the value of each curve at each sample point.
"""

from collections.abc import Mapping

from fairweir.formal.hand_encoded.aimd import Aimd
from fairweir.formal.hand_encoded.bbr_like import BbrLike
from fairweir.formal.hand_encoded.cca import HandEncodedCca
from fairweir.formal.hand_encoded.copa_like import CopaLike
from fairweir.formal.hand_encoded.expo import Expo
from fairweir.formal.hand_encoded.vegas_like import VegasLike

_ALL: tuple[HandEncodedCca, ...] = (Aimd(), CopaLike(), BbrLike(), VegasLike(), Expo())

#: The algorithms by their names on the command line.
HAND_ENCODED: Mapping[str, HandEncodedCca] = {cca.name: cca for cca in _ALL}

__all__ = ["HAND_ENCODED", "HandEncodedCca"]
