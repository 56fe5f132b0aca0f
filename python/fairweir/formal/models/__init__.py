"""Network models: relations between what is sent and what is served, lost and delayed. One file a model."""

from collections.abc import Mapping

from fairweir.formal.models import cbr_delay, ccac, ideal
from fairweir.formal.system import Builder

#: By the name that queries and the command line use.
MODELS: Mapping[str, Builder] = {"ideal": ideal.build, "cbr-delay": cbr_delay.build, "ccac": ccac.build}

__all__ = ["MODELS"]
