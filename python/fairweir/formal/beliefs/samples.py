"""Constraints for a bound that only becomes tighter: the maximum or minimum of its previous value and of valid samples.

A belief is a bound on the network that a flow infers from what it observes. A sample is one value for this bound, with
the condition under which the sample is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import z3

from fairweir.formal.encoding.system import Bit

#: A sample: the condition under which it is valid, and its value.
Sample: TypeAlias = tuple[Bit, z3.ArithRef]


def is_largest(value: z3.ArithRef, before: z3.ArithRef, samples: Sequence[Sample]) -> list[z3.BoolRef]:
    """Return the constraints that `value` is the maximum of `before` and of the values of the valid samples.

    Parameters
    ----------
    value : the belief at a point
    before : the belief at the previous point
    samples : pairs of the condition under which the sample is valid, and its value
    """
    out, attained = [value >= before], [value <= before]
    for counts, sample in samples:
        out.append(z3.Implies(counts, value >= sample))
        attained.append(z3.And(counts, value <= sample))
    return [*out, z3.Or(*attained)]


def is_minimum(value: z3.ArithRef, before: z3.ArithRef, samples: Sequence[Sample]) -> list[z3.BoolRef]:
    """Return the constraints that `value` is the minimum of `before` and of the values of the valid samples.

    Parameters
    ----------
    value : the belief at a point
    before : the belief at the previous point
    samples : pairs of the condition under which the sample is valid, and its value
    """
    out, attained = [value <= before], [value >= before]
    for counts, sample in samples:
        out.append(z3.Implies(counts, value <= sample))
        attained.append(z3.And(counts, value >= sample))
    return [*out, z3.Or(*attained)]
