"""Congestion control algorithms encoded by hand, as in CCAC, because rules cannot express their state."""

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
