"""Bounds that several exhibits share, each with its reason."""

from __future__ import annotations

from fairweir.hunting.result import FRCC_RATIO
from fairweir.judging.outcome import Direction, Threshold

FAIR = Threshold(
    bound=2.0,
    direction=Direction.AT_MOST,
    reason="identical flows on an ideal link should not exceed this ratio; above it, flows that observe the same"
    " statistic get different rates",
    source="thesis chapter 5 (contracts); FRCC section 7, figure 19: all CCAs but one reach a Jain index near 1",
)
BOUNDED = Threshold(
    bound=FRCC_RATIO,
    direction=Direction.AT_MOST,
    reason="an algorithm exists that provably stays within this ratio under worst-case jitter, at any link rate",
    source="FRCC theorem 6.2; docs/derivations.md: N_C <= 6.6, so the ratio is at most N_C - 1 = 5.6",
)
STARVED = Threshold(
    bound=10.0,
    direction=Direction.AT_MOST,
    reason="published experiments call a ratio of about 10 starvation; RFC 9743 requires that there is no significant"
    " harm and states no number",
    source="starvation paper section 5 (8.3/107, 9.9/99.4, 10.3/99.1 Mbps); RFC 9743 section 5.2.1",
)
NOT_GROWING = Threshold(
    bound=0.1,
    direction=Direction.AT_MOST,
    reason="unfairness that grows with the link rate has no bound; an exponent of 0.1 is 26 % per decade, which is the "
    "spread over seeds",
    source="starvation paper, definition of s-fairness; FRCC section 3",
)
EFFICIENT = Threshold(
    bound=0.9,
    direction=Direction.AT_LEAST,
    reason="long flows on an ideal link with at least one BDP of buffer should fill the link",
    source="FRCC section 7: utilization of roughly 100 % in every sweep",
)
HALF_USED = Threshold(
    bound=0.5,
    direction=Direction.AT_LEAST,
    reason="one disturbance should cost at most half of the link",
    source="starvation paper section 2, definition of f-efficiency; thesis section 4.2: 50 % without timeouts",
)
JITTER_USED = Threshold(
    bound=0.3,
    direction=Direction.AT_LEAST,
    reason="an algorithm exists that provably uses this fraction of the link under jitter with any buffer",
    source="thesis section 4.2.2.1 (cc_probe_slow)",
)
CONVERGED = Threshold(
    bound=0.9,
    direction=Direction.AT_LEAST,
    reason="shares with a lower Jain's index are called unfair",
    source="docs/derivations.md, When runs have no contract; RFC 9743 section 5.1.4",
)
