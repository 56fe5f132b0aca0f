"""Network models: relations between data sent, served, lost and delayed. One file per model."""

import inspect
from collections.abc import Mapping
from functools import partial

from fairweir.formal.encoding.system import Acks, Builder
from fairweir.formal.models import cbr_delay, ccac, ideal

#: By the name that queries and the command line use. The published code's models forbid acknowledgements to pause.
MODELS: Mapping[str, Builder] = {
    "ideal": ideal.build,
    "cbr-delay": cbr_delay.build,
    "ccac": ccac.build,
    "cbr-delay-published": partial(cbr_delay.build, acks=Acks.STEADY),
    "ccac-published": partial(ccac.build, acks=Acks.STEADY),
}


def summary(name: str) -> str:
    """Return one line on the model `name`: the start of its module's docstring."""
    builder = MODELS[name]
    is_published = isinstance(builder, partial)
    module = inspect.getmodule(builder.func if isinstance(builder, partial) else builder)
    words = (inspect.getdoc(module) or "").partition("\n")[0]
    return f"{words.rstrip('.')}; ACKs never pause, as in the published code" if is_published else words


__all__ = ["MODELS", "summary"]
