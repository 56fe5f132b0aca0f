"""Congestion control algorithms encoded by hand, as in CCAC: their state is not expressible by rules."""

from collections.abc import Mapping

from fairweir.formal.handmade.aimd import Aimd
from fairweir.formal.handmade.bbr_like import BbrLike
from fairweir.formal.handmade.cca import HandmadeCca
from fairweir.formal.handmade.copa_like import CopaLike
from fairweir.formal.handmade.expo import Expo
from fairweir.formal.handmade.vegas_like import VegasLike

_ALL: tuple[HandmadeCca, ...] = (Aimd(), CopaLike(), BbrLike(), VegasLike(), Expo())

#: By the name on the command line.
HANDMADE: Mapping[str, HandmadeCca] = {cca.name: cca for cca in _ALL}

__all__ = ["HANDMADE", "HandmadeCca"]
