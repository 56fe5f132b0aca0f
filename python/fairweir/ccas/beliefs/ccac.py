"""The beliefs on a CCAC link, a link of constant rate with jitter that may also waste capacity (thesis section 4.1.1).

A belief is a bound that a sender computes from what it observed: bounds on the link rate (C_L and C_U), and a lower
bound on the queueing delay (qdel_L).
"""

from fairweir.ccas.beliefs.family import BeliefFamily, Kernel, Unit

CCAC = BeliefFamily(
    "ccac",
    {"C_L": Unit.RATE, "C_U": Unit.RATE, "qdel_L": Unit.TIME},
    Kernel(
        header="beliefs.h",
        floor="belief_packet_rate(b->rtprop_us, mss)",
        arguments="const struct beliefs *b, u32 mss",
        atoms={
            ("C_L", 0): ("c_l", "rule_quantity(b->c_l)"),
            ("C_U", 0): ("c_u", "rule_quantity(b->c_u)"),
            ("alpha", 0): ("alpha", "rule_quantity(belief_packet_rate(b->rtprop_us, mss))"),
            ("qdel_L", 0): ("qdel_l", "b->qdel_l_us"),
            ("", 1): ("rtprop", "b->rtprop_us"),
            ("alpha", 1): ("packet", "mss"),
            ("C_L", 1): ("c_l_data", "rule_data(rule_quantity(b->c_l), b->rtprop_us)"),
            ("C_U", 1): ("c_u_data", "rule_data(rule_quantity(b->c_u), b->rtprop_us)"),
        },
    ),
)
