"""Network models: relations between what is sent and what is served, lost and delayed. One file a model."""

from collections.abc import Mapping
from functools import partial

from fairweir.formal.models import cbr_delay, ccac, ideal
from fairweir.formal.system import Acks, Builder

#: By the name that queries and the command line use. The published code's models forbid acknowledgements to pause.
MODELS: Mapping[str, Builder] = {
    "ideal": ideal.build,
    "cbr-delay": cbr_delay.build,
    "ccac": ccac.build,
    "cbr-delay-published": partial(cbr_delay.build, acks=Acks.STEADY),
    "ccac-published": partial(ccac.build, acks=Acks.STEADY),
}

__all__ = ["MODELS"]
