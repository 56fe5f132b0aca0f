"""Run the experiments that give reasons for failed checks of Syntra's video: what a sender can reach on a link at all,
and what ours reach without a cause that is removed.

Three senders bound or explain the results on a link:

- the *quickest* sender codes every frame at the encoder's coarsest quantizer and sends it at once. Larger frames leave
  a queue later, so no sender that shows every frame has a shorter delay;
- `known` knows the link's future rate, and gives equal sizes to the next frames. For the median SSIM, this is not a
  strict bound: a sender that alternates between two quantizers can have a higher median, with a lower mean;
- the published tree *at every frame*, instead of once per step of 50 ms, and with the working rate R (docs/video.md).

With *plain* pictures the encoder is limited to the median SSIM of GCC, so that our senders do not use the link for
finer pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fairweir.judging.outcome import Interval
from fairweir.video.play import Session

KNOWN: Final = "known"
#: The link's rate exceeds this rate at most times, and a frame of the coarsest quantizer has one packet: it is sent at
#: once.
QUICKEST: Final = "fixed:1Mbps"
#: Our sender -> the sender that takes the same decisions at every frame.
AT_EVERY_FRAME: Final = {"published": "tree:published", "rules": "rules"}

#: Our sender -> what differs in its sessions with plain pictures. Those of the published tree have two changes.
PLAINLY: Final = {
    "published": "at every frame, not once per step, and with pictures that are no finer than GCC's",
    "rules": "with pictures that are no finer than GCC's",
}

#: Compares sessions with those of a baseline; None if a session showed no frame.
Measure = Callable[[Sequence[Session]], Interval | None]


@dataclass(frozen=True)
class Experiments:
    """The sessions of the experiments on a link, in the order of their seeds.

    Attributes
    ----------
    known, quickest : the two limits
    at_every_frame : our sender -> the sessions of :data:`AT_EVERY_FRAME`
    plain : the senders of `at_every_frame`, with pictures that are no finer than GCC's (:data:`PLAINLY`)
    """

    known: Sequence[Session]
    quickest: Sequence[Session]
    at_every_frame: Mapping[str, Sequence[Session]]
    plain: Mapping[str, Sequence[Session]]


@dataclass(frozen=True)
class Check:
    """A check that failed.

    Attributes
    ----------
    ours : our sender
    value : our value
    bound : the published bound, a minimum
    near : difference (for `delay`: factor) by which a value may be below that of the limit or the baseline without
        being far from it
    measure : function that returns the interval of other sessions: its lower end is a value as ours, its upper end
        bounds what a limit reaches
    """

    ours: str
    value: float
    bound: float
    near: float
    measure: Measure

    def least(self, sessions: Sequence[Session]) -> float | None:
        """Return the lower end of other sessions' interval, as for ours."""
        found = self.measure(sessions)
        return None if found is None else found.lo

    def most(self, sessions: Sequence[Session]) -> float | None:
        """Return the upper end of a limit's interval: a bound is out of reach only if it exceeds this end, too."""
        found = self.measure(sessions)
        return None if found is None else found.hi


def why_not_shorter(check: Check, found: Experiments) -> str:
    """Return the reason why the delay is not shorter by the published factor; empty if no experiment gives one."""
    return delay_reason(
        check.bound,
        check.near,
        value=check.value,
        limit=check.most(found.quickest),
        plain=check.least(found.plain[check.ours]),
        change=PLAINLY[check.ours],
    )


def delay_reason(
    bound: float, near: float, *, value: float, limit: float | None, plain: float | None, change: str
) -> str:
    """Return the reason why a factor of delays, GCC's over ours, is below its bound; empty if there is none.

    Parameters
    ----------
    near : minimum factor at which our delay is not considered longer than GCC's
    value : our factor
    limit : the quickest sender's factor, the upper end of its interval
    plain : our factor with plain pictures
    change : what is changed for `plain`, of :data:`PLAINLY`
    """
    if plain is not None and plain >= bound:
        return f"the factor is {plain:.2f} {change}"
    if limit is None or limit >= bound:
        return ""
    reach = f"the factor is at most {limit:.2f} for the smallest frames of this encoder, sent at once"
    if value > near:
        return reach
    # The limit does not explain a longer delay than GCC's: another experiment has to give that reason.
    if plain is None or plain <= near:
        return ""
    return f"{reach}; ours is {plain:.2f} {change}"


def why_not_better(check: Check, found: Experiments) -> str:
    """Return the reason why the median SSIM is not higher by the published dB; empty if no experiment gives one."""
    prompt, limit = check.least(found.at_every_frame[check.ours]), check.most(found.known)
    if prompt is not None and prompt >= check.bound:
        return f"the difference is {prompt:.2f} dB with the same decisions at every frame, not once per step"
    if limit is None or prompt is None or limit >= check.bound:
        return ""
    reach = f"the difference is at most {limit:.2f} dB for a sender that knows the link's future rate"
    if check.value > limit + check.near:
        return reach
    if prompt > limit + check.near:
        return f"{reach}; {prompt:.2f} dB with our decisions at every frame, not once per step"
    return ""


def why_not_faster(check: Check, found: Experiments, theirs: float, fps: float) -> str:
    """Return the reason why the frame rate is not higher than the baseline's, `theirs`; empty if there is none."""
    if not theirs > 0.995 * fps:
        return ""
    shown = f"the baseline shows {theirs:.2f} of {fps:g} frames per second"
    if check.value > check.near:
        return shown
    limit = check.most(found.known)
    if limit is None or not (limit < check.bound and check.value > limit + check.near):
        return ""
    return f"{shown}; the difference is at most {limit:.2f} for a sender that knows the link's future rate"


def geometric_mean(factors: Sequence[float | None]) -> float | None:
    """Return the geometric mean; None if a factor is missing."""
    known = [factor for factor in factors if factor is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known and len(known) == len(factors) else None
