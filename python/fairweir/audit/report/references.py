"""Reference curves of a notion of fairness, independent of any CCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Reference:
    """A grey curve in a metric's figure."""

    label: str
    at: Callable[[float], float]
    """Value on the figure's axis, from the place on the family's axis."""
    dash: str = "dash"
    """Plotly's dash pattern."""


HOPS: Final = Reference("proportional fairness, hops", lambda hops: hops)
HOPS_SQUARED: Final = Reference("hops²", lambda hops: hops * hops, "dot")
SQRT_HOPS: Final = Reference("minimum potential delay, √hops", lambda hops: hops**0.5, "dashdot")
EQUAL_TO_RATIO: Final = Reference("the RTprop ratio itself", lambda ratio: ratio)

REFERENCES: Final[Mapping[tuple[str, str], tuple[Reference, ...]]] = {
    ("parking-lot", "short_by_long"): (SQRT_HOPS, HOPS, HOPS_SQUARED),
    ("rtprop-ratio", "ratio"): (EQUAL_TO_RATIO,),
}
"""By family and metric. Parking lot: thesis, Table 6.1 and Fig. 7.20; RTprop ratio: FRCC paper, Fig. 20 right."""
