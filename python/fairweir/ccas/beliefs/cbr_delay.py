"""The beliefs on a CBR-delay link, a link of constant rate with jitter (thesis section 4.2.2.1).

A belief is a bound that a sender computes from what it observed: C_L_lambda, a lower bound on the link rate, and q_U,
an upper bound on the bytes queued.
"""

from fairweir.ccas.beliefs.family import BeliefFamily, Kernel, Unit

CBR_DELAY = BeliefFamily(
    "cbr-delay",
    {"C_L_lambda": Unit.RATE, "q_U": Unit.DATA},
    Kernel(
        header="probes.h",
        floor="belief_packet_rate(s->rtprop_us, mss)",
        arguments="const struct probing *s, u64 alpha_bytes, u32 mss",
        atoms={
            ("C_L_lambda", 0): ("c_l_lambda", "rule_quantity(s->rate)"),
            ("alpha", 0): ("alpha", "rule_rate(alpha_bytes, s->rtprop_us)"),
            ("q_U", 0): ("q_u", "rule_quantity(s->queue)"),
            ("q_U", -1): ("q_u_rate", "rule_rate(s->queue, s->rtprop_us)"),
            ("", 1): ("rtprop", "s->rtprop_us"),
            ("alpha", 1): ("packet", "rule_quantity(alpha_bytes)"),
            ("C_L_lambda", 1): ("c_l_lambda_data", "rule_data(rule_quantity(s->rate), s->rtprop_us)"),
        },
    ),
)
