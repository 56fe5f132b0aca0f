"""Compare the simulator's speed with other packet simulators, on the same machine at the same time.

    make bench-peers                        (says where the peer's source belongs if it is absent)
    python -m benches.peers --only W3 --pairs 3

Both programs take turns on one CPU: other work on the machine slows both, and the ratio is that of pairs. Both count
data packets that were delivered and acknowledged, and report them per second of wall time. The time of the peer
excludes its set-up; ours includes it. Ours is built with the release profile of Cargo.toml, for every processor of the
architecture; the peer, with its best flags for this processor.
"""
