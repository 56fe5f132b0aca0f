"""Compare the simulator's speed with other packet simulators, on the same machine at the same time.

    make bench-peers                        (says where the peer's source belongs if it is absent)
    python -m benches.peers --only W3 --pairs 3

The two programs take turns on one CPU, so that whatever slows the machine slows both, and the ratio is that of pairs.
Both count data packets that were delivered and acknowledged, and report them per second of wall time. The time of the
peer excludes its set-up; ours includes it. Both are built with their best flags: ours with the release profile of
Cargo.toml, for any processor of the architecture, the peer for this processor.
"""
