// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * cc_probe_slow: each probe sends a constant number of packets more than certainly fit; the queue is drained between
 * probes
 *
 * Model: the beliefs C_Ll and q_U of probes.h, T* = k R, D = d R, a = alpha packets (and loss_share of C_Ll R); after a
 * start by cc_qdel that ends when more than 2 a are lost within R
 *
 *	q_U <= a   a probe: C_Ll (T* + D) + a bytes, paced over T*; it may lose 2 a
 *	else       a drain: rate = C_Ll - q_U / R, at least a packet per R
 *
 * Past probes permit all links with C T* + buffer >= C_Ll (T* + D). On none of them does the next probe lose more than
 * 2 a: losses do not grow with C, at the price of convergence time linear in C (theorem 4.2.1). Proved for one flow on
 * a CBR-delay link: utilization 30 % (T* / (T* + D) without time-outs), RTT at most 1.5 (R + D), at most 2 a lost in R;
 * C_Ll rises additively and falls exponentially.
 *
 * Source: thesis 4.2.1, listing 4.2 (CCA4), 4.2.2.1, table 4.2, 4.2.4, B.3 to B.6; docs/formal/models.md.
 * This is cc_probe_slow_k of section 4.2.2.1. The listing's rule, rules/cc_probe_slow.toml, is its case k = d = 1.
 *
 * Deviations: the next probe waits for the last one's outcome. C_Ll starts from C_L of the ACKs, which by C_L <= C
 * satisfies the inequality above for any buffer. An application-limited probe gives no information. A retransmission
 * timeout counts as a probe that lost too much. loss_share, the thesis's f(C) (4.2.2), is 0 there.
 */
#include "probes.h"

#define CC_PROBE_SLOW_PARAMS(P)                                                                                        \
	P(k_fp, "k", CC_FIXED, CC_FP(1), CC_FP(0.25), CC_FP(64), "length of a probe, in rtprops")                      \
	P(alpha_pkts, "alpha", CC_PKTS, 5, 1, 10000, "packets in excess of those that certainly fit")  \
	P(loss_share_fp, "loss_share", CC_FIXED, 0, 0, CC_FP(1), "additional excess, as a fraction of a BDP")          \
	P(d_fp, "d", CC_FIXED, CC_FP(1), CC_FP(0.01), CC_FP(8), "tolerated jitter, in rtprops")
CC_PARAMS(cc_probe_slow, CC_PROBE_SLOW_PARAMS);

static __always_inline struct probe_lengths cc_probe_slow_lengths(const struct cc_probe_slow_params *p)
{
	return (struct probe_lengths){.k_fp = p->k_fp, .d_fp = p->d_fp};
}

/* Returns a, bytes. */
static __always_inline u64 cc_probe_slow_allowance(u64 rate, u32 rtprop_us, const struct cc_probe_slow_params *p,
						   u32 mss)
{
	return p->alpha_pkts * mss + (rate * rtprop_us / USEC_PER_SEC * p->loss_share_fp >> CC_FP_SHIFT);
}

static __always_inline struct probe_choice cc_probe_slow_choose(const struct probing *s,
								const struct cc_probe_slow_params *p, u32 mss)
{
	u64 allowance = cc_probe_slow_allowance(s->rate, s->rtprop_us, p, mss);
	u64 excess_rate = s->queue * USEC_PER_SEC / max(s->rtprop_us, 1U);
	bool is_drained = s->queue <= allowance;

	return (struct probe_choice){
		.bytes = is_drained ? probe_sure_bytes(s, cc_probe_slow_lengths(p)) + allowance : 0,
		.queue_bound = allowance,
		.loss_bound = 2 * allowance,
		.rate = s->rate - min(s->rate, excess_rate),
	};
}

static __always_inline bool cc_probe_slow_may_choose(struct sock *sk, struct prober *ca,
						     const struct cc_probe_slow_params *p, const struct rate_sample *rs)
{
	struct beliefs *b = &ca->start;

	if (ca->phase != PROBE_START)
		return probe_update(sk, ca, cc_probe_slow_lengths(p), rs);
	if (!belief_update(sk, b, rs, p->d_fp))
		return false;
	return probe_start(sk, ca, cc_probe_slow_lengths(p),
			   2 * cc_probe_slow_allowance(b->c_l, b->rtprop_us, p, tcp_sk(sk)->mss_cache));
}

SEC("struct_ops/cc_probe_slow_init")
void BPF_PROG(cc_probe_slow_init, struct sock *sk)
{
	probe_init(sk);
}

CC_CONG_CONTROL(cc_probe_slow_cong_control, sk, rs)
{
	struct prober *ca = inet_csk_ca(sk);
	const struct cc_probe_slow_params *p = cc_params(sk);

	if (cc_probe_slow_may_choose(sk, ca, p, rs))
		probe_act(sk, ca, cc_probe_slow_lengths(p),
			  cc_probe_slow_choose(&ca->probing, p, tcp_sk(sk)->mss_cache));
}

/* Losses are attributed to the probe whose packets were lost. */
SEC("struct_ops/cc_probe_slow_ssthresh")
u32 BPF_PROG(cc_probe_slow_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/cc_probe_slow_set_state")
void BPF_PROG(cc_probe_slow_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		probe_doubt(inet_csk_ca(sk));
}

SEC("struct_ops/cc_probe_slow_undo_cwnd")
u32 BPF_PROG(cc_probe_slow_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC("struct_ops/cc_probe_slow_min_tso_segs")
u32 BPF_PROG(cc_probe_slow_min_tso_segs, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops")
struct tcp_congestion_ops cc_probe_slow = {
	.init = (void *)cc_probe_slow_init,
	.ssthresh = (void *)cc_probe_slow_ssthresh,
	.undo_cwnd = (void *)cc_probe_slow_undo_cwnd,
	.set_state = (void *)cc_probe_slow_set_state,
	.cong_control = (void *)cc_probe_slow_cong_control,
	.min_tso_segs = (void *)cc_probe_slow_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cc_probe_slow",
};

CC_LICENSE("Dual MIT/GPL");
