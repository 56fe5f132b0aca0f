// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * cc_qdel: sends at twice the lower bound on the link rate until a queue is certain, then at half of it
 *
 *	if qdel_L > 0: 1/2 C_L
 *	else: 2 C_L
 *
 * at least a packet in R (thesis listing 4.1, line 7). Written by `fairweir rule`.
 *
 * Beliefs are those of beliefs.h; cwnd = 2 C_U (R + D).
 *
 * qdel_L > 0 only if the queue is not empty, so the link is used; and then the queue is drained, so it is bounded.
 * Proved (thesis, lemma B.4.7) for one flow on a CCAC link, D = R, buffer at least 3 C (R + D): utilization 83 % (89 %
 * in the text), RTT at most 4.4 (R + D), at most 3 packets lost in R; C_L and C_U converge exponentially. Nothing is
 * proved for several flows, and they are unfair.
 *
 * Deviations: bounds come from whole slots of length R, as in the proofs, while the rate follows each RTT. Time-outs
 * are those of the synthesis code without its margins of 10 %. The cap on cwnd is the prototype's; it takes a C_U that
 * is not known for 4 C_L. A retransmission timeout halves C_L: missing ACKs are not in the model.
 *
 * Source: thesis listing 4.2 (CCA1, from query G1), 4.2.3, 4.2.4, B.4 to B.6; docs/formal/models.md.
 */
#include "beliefs.h"
#include "rule.h"

#define CC_QDEL_PARAMS(P) \
	P(d_fp, "d", CC_FIXED, CC_FP(1), CC_FP(0.01), CC_FP(8), "tolerated jitter, in rtprops")
CC_PARAMS(cc_qdel, CC_QDEL_PARAMS);
CC_STATE_FITS(struct beliefs);

/* Sending rate of the rule, bytes/s. */
static __always_inline u64 cc_qdel_rate(const struct beliefs *b, u32 mss)
{
	s64 c_l = rule_quantity(b->c_l);
	s64 qdel_l = b->qdel_l_us;
	u64 least = belief_packet_rate(b->rtprop_us, mss);

	if (qdel_l > 0)
		return max(rule_share(c_l, 2), least);
	return max(rule_share(2 * c_l, 1), least);
}

SEC("struct_ops/cc_qdel_init")
void BPF_PROG(cc_qdel_init, struct sock *sk)
{
	struct beliefs *b = inet_csk_ca(sk);

	*b = (struct beliefs){.c_u = BELIEF_NO_BOUND};
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_CONG_CONTROL(cc_qdel_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct beliefs *b = inet_csk_ca(sk);
	u64 d_fp = cc_params(sk)->d_fp;

	if (!belief_update(sk, b, rs, d_fp))
		return;
	sk->sk_pacing_rate = cc_qdel_rate(b, tp->mss_cache);
	tp->snd_cwnd = min(belief_cwnd(b, d_fp, tp->mss_cache), (u64)tp->snd_cwnd_clamp);
}

/* Losses show that the link is busy; the window does not respond to them. */
SEC("struct_ops/cc_qdel_ssthresh")
u32 BPF_PROG(cc_qdel_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/cc_qdel_set_state")
void BPF_PROG(cc_qdel_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		belief_doubt(inet_csk_ca(sk));
}

SEC("struct_ops/cc_qdel_undo_cwnd")
u32 BPF_PROG(cc_qdel_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC("struct_ops/cc_qdel_min_tso_segs")
u32 BPF_PROG(cc_qdel_min_tso_segs, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops")
struct tcp_congestion_ops cc_qdel = {
	.init = (void *)cc_qdel_init,
	.ssthresh = (void *)cc_qdel_ssthresh,
	.undo_cwnd = (void *)cc_qdel_undo_cwnd,
	.set_state = (void *)cc_qdel_set_state,
	.cong_control = (void *)cc_qdel_cong_control,
	.min_tso_segs = (void *)cc_qdel_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cc_qdel",
};

CC_LICENSE("Dual MIT/GPL");
