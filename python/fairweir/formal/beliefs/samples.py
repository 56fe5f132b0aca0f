"""A monotone belief: the best of its previous value and of the valid samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import z3

from fairweir.formal.encoding.system import Bit

#: The condition under which a sample counts, and its value.
Sample: TypeAlias = tuple[Bit, z3.ArithRef]


def is_largest(value: z3.ArithRef, before: z3.ArithRef, samples: Sequence[Sample]) -> list[z3.BoolRef]:
    """Bind value = max(before, the samples that count).

    Parameters
    ----------
    value : the belief at a point
    before : the belief at the point before
    samples : pairs of a condition and the value that counts under it
    """
    out, attained = [value >= before], [value <= before]
    for counts, sample in samples:
        out.append(z3.Implies(counts, value >= sample))
        attained.append(z3.And(counts, value <= sample))
    return [*out, z3.Or(*attained)]


def is_minimum(value: z3.ArithRef, before: z3.ArithRef, samples: Sequence[Sample]) -> list[z3.BoolRef]:
    """Bind value = min(before, the samples that count).

    Parameters
    ----------
    value : the belief at a point
    before : the belief at the point before
    samples : pairs of a condition and the value that counts under it
    """
    out, attained = [value <= before], [value >= before]
    for counts, sample in samples:
        out.append(z3.Implies(counts, value <= sample))
        attained.append(z3.And(counts, value >= sample))
    return [*out, z3.Or(*attained)]
