"""The batches that wait at each decision of a controller's run, as constraints for a solver.

A *batch* is the output of the encoder in one step. A decision at time t (in steps) sends some of the waiting batches
(together, the *message*), and sets the target size of the next batch. The next batch is encoded until t + 1, and waits
from t + 2 on. Its size is the target times any factor in the range that the controller file has for the encoder.
Amounts are in packets. M is the minimum link rate of the sender's belief set.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fairweir.ccas.controller_file import Controller
from fairweir.errors import ConfigError
from fairweir.game.action import Action
from fairweir.game.model import number

if TYPE_CHECKING:
    import z3

#: Maximum number of decisions of a run. A batch is dropped if it waits longer than `stale_steps` of 3; in so few
#: decisions no batch waits that long.
MAX_FRAME_STEPS: Final = 5


@dataclass(frozen=True)
class Waiting:
    """The sizes of the batches that wait at a decision, oldest first; only the first `count` sizes are used."""

    count: z3.ArithRef
    sizes: Sequence[z3.ArithRef]

    @classmethod
    def at(cls, now: int) -> Waiting:
        """Return the unknowns of decision number `now`. No batch waits before decision 2."""
        import z3

        return cls(z3.Real(f"waiting_{now}"), [z3.Real(f"batch_{now}_{i}") for i in range(max(0, now - 1))])

    def features(
        self, m: z3.ArithRef, encoding: z3.ArithRef, now: int
    ) -> tuple[dict[str, z3.ArithRef], list[z3.BoolRef]]:
        """Return the features of waiting batches by which a tree decides, and constraints on them.

        Counts and ages are multiplied by M, because amounts are in packets here and the thresholds of the tree are
        multiplied by M. Ages and FEC frames in flight are only required to be at least 0.
        """
        import z3

        zero: z3.ArithRef = z3.RealVal(0)
        newest, oldest, whole, times = (z3.Real(f"{what}_{now}") for what in ("newest", "oldest", "sum", "times"))
        ways = []
        for n in range(len(self.sizes) + 1):
            some = self.sizes[:n]
            ends = (newest == some[-1], oldest == some[0]) if some else (newest == 0, oldest == 0)
            ways.append(z3.And(self.count == n, times == n * m, whole == sum(some, zero), *ends))
        free = {name: z3.Real(f"{name}_{now}") for name in ("oldest_age", "group_age", "groups")}
        held = [z3.Or(*ways), *(one >= 0 for one in free.values())]
        terms = {"waiting": times, "newest": newest, "oldest": oldest, "sum": whole, "encoding": encoding}
        return {**terms, **free}, held


def encoder(controller: Controller) -> tuple[Fraction, Fraction]:
    """Return the minimum and maximum of a batch's size divided by its target size.

    Raises
    ------
    ConfigError : `encoder` in the controller file is not a positive range
    """
    found = controller.document.get("encoder", [1, 1])
    is_pair = isinstance(found, list) and len(found) == 2 and all(isinstance(one, int | float) for one in found)
    if not is_pair or not 0 < found[0] <= found[1]:
        raise ConfigError(f"not a positive range: `{found}`", source=controller.source, key="encoder")
    return Fraction(found[0]), Fraction(found[1])


def follow(
    controller: Controller, now: int, before: Waiting, after: Waiting, act: Action, encoding: z3.ArithRef
) -> list[z3.BoolRef]:
    """Return the constraints on the waiting batches of one decision and of the next decision.

    Only the size of the message determines which batches were sent. Any batches of the right size are therefore
    allowed.

    Parameters
    ----------
    encoding : target size of the batch that is encoded during the step; 0 if none is encoded
    """
    import z3

    low, high = encoder(controller)
    size = z3.Real(f"encoded_{now}")
    zero: z3.ArithRef = z3.RealVal(0)
    ways = []
    for n in range(len(before.sizes) + 1):
        some = list(before.sizes[:n])
        sent = [(zero, some)]
        if some:
            sent += [(some[-1], []), (some[0], some[1:]), (sum(some, zero), [])]
        for (message, rest), is_new in itertools.product(sent, (False, True)):
            batches = [*rest, size] if is_new else rest
            if len(batches) > len(after.sizes):
                continue
            is_next = [mine == theirs for mine, theirs in zip(after.sizes, batches, strict=False)]
            made = encoding > 0 if is_new else encoding <= 0
            ways.append(z3.And(before.count == n, act.message == message, made, after.count == len(batches), *is_next))
    return [size >= number(low) * encoding, size <= number(high) * encoding, z3.Or(*ways)]
