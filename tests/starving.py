"""Common parts of the tests of starvation certificates."""

from __future__ import annotations

from fairweir.starvation.result import Pair

#: Vegas on links of 3 and 40 Mbps, which jitter of 16 ms makes indistinguishable.
PAIR = Pair(
    slow_mbps=3.0,
    fast_mbps=40.0,
    slow_throughput_mbps=3.0,
    fast_throughput_mbps=40.0,
    case=2,
    standing_ms=0.0,
    d_ms=16.0,
)
