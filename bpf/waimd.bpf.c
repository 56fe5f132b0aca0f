// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Weighted AIMD, four CCAs from one source:
 *
 * multcp: as `weight` Reno flows: grows by w, shrinks by 1/(2w) (Crowcroft and Oechslin 1998)
 * ewtcp: grows by w^2, shrinks by half (Honda et al. 2009)
 * wcc_ai: grows by w, shrinks by half (WCC, weight in the increase)
 * wcc_md: grows by 1, shrinks by 1/(2w) (WCC, weight in the decrease)
 *
 * Model, per packet acknowledged and per loss episode:
 *
 *	cwnd += A / cwnd          ssthresh = cwnd (1 - B), at least 2
 *
 * Slow start, timeouts and recovery are Reno's. Weight 1 is Reno in all four.
 *
 * Source: WCC paper sections II and III.A.
 *
 * Deviations: weights may be fractions (the papers use integers). wcc_md and multcp need weight > 1/2; at or below it a
 * decrease sets the window to 2 packets.
 */
#include "tcp.h"

#define WAIMD_PARAMS(P)                                                                                                \
	P(weight_fp, "weight", CC_FIXED, CC_FP(1), CC_FP(0.01), CC_FP(1000),                                           \
	  "intended throughput relative to a flow of weight 1")
CC_PARAMS(waimd, WAIMD_PARAMS);

struct waimd {
	u64 credit_fp; /* growth earned since the last whole packet, packets times cwnd, 1/CC_FP_ONE */
	u64 increase_fp; /* A, packets per RTT, 1/CC_FP_ONE */
	u32 decrease_fp; /* B, 1/CC_FP_ONE */
};
CC_STATE_FITS(struct waimd);

/* Returns 1/(2w), at most 1. */
static __always_inline u32 waimd_shared_decrease(u64 weight_fp)
{
	return min(CC_FP_ONE * CC_FP_ONE / (2 * weight_fp), CC_FP_ONE);
}

static __always_inline void waimd_start(struct sock *sk, u64 increase_fp, u32 decrease_fp)
{
	struct waimd *ca = inet_csk_ca(sk);

	ca->credit_fp = 0;
	ca->increase_fp = increase_fp;
	ca->decrease_fp = decrease_fp;
}

SEC("struct_ops/multcp_init")
void BPF_PROG(multcp_init, struct sock *sk)
{
	const struct waimd_params *p = cc_params(sk);

	waimd_start(sk, p->weight_fp, waimd_shared_decrease(p->weight_fp));
}

SEC("struct_ops/ewtcp_init")
void BPF_PROG(ewtcp_init, struct sock *sk)
{
	const struct waimd_params *p = cc_params(sk);

	waimd_start(sk, p->weight_fp * p->weight_fp >> CC_FP_SHIFT, CC_FP(0.5));
}

SEC("struct_ops/wcc_ai_init")
void BPF_PROG(wcc_ai_init, struct sock *sk)
{
	const struct waimd_params *p = cc_params(sk);

	waimd_start(sk, p->weight_fp, CC_FP(0.5));
}

SEC("struct_ops/wcc_md_init")
void BPF_PROG(wcc_md_init, struct sock *sk)
{
	const struct waimd_params *p = cc_params(sk);

	waimd_start(sk, CC_FP_ONE, waimd_shared_decrease(p->weight_fp));
}

SEC("struct_ops/waimd_cong_avoid")
void BPF_PROG(waimd_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct waimd *ca = inet_csk_ca(sk);
	u64 packet_fp, grown;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	ca->credit_fp += acked * ca->increase_fp;
	packet_fp = max((u64)tp->snd_cwnd, 1ULL) << CC_FP_SHIFT;
	if (ca->credit_fp >= packet_fp) {
		grown = ca->credit_fp / packet_fp;
		ca->credit_fp -= grown * packet_fp;
		tp->snd_cwnd = min(tp->snd_cwnd + (u32)grown, tp->snd_cwnd_clamp);
	}
}

static __always_inline u32 waimd_reduced(const struct waimd *ca, u64 cwnd)
{
	u64 cut = (cwnd * ca->decrease_fp + CC_FP_ONE - 1) >> CC_FP_SHIFT; /* rounded up: 2w > cwnd still shrinks */

	return max((u32)(cwnd - cut), 2U);
}

SEC("struct_ops/waimd_ssthresh")
u32 BPF_PROG(waimd_ssthresh, struct sock *sk)
{
	struct waimd *ca = inet_csk_ca(sk);

	ca->credit_fp = 0;
	return waimd_reduced(ca, tcp_sk(sk)->snd_cwnd);
}

static __always_inline void waimd_keep_ssthresh(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cc_ssthresh_is_of_prior_cwnd(tp, state))
		cc_keep_ssthresh(tp, waimd_reduced(inet_csk_ca(sk), tp->prior_cwnd));
}

SEC("struct_ops/waimd_set_state")
void BPF_PROG(waimd_set_state, struct sock *sk, u8 new_state)
{
	waimd_keep_ssthresh(sk, new_state);
}

SEC("struct_ops/waimd_pkts_acked")
void BPF_PROG(waimd_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	waimd_keep_ssthresh(sk, cc_ca_state(sk));
}

SEC("struct_ops/waimd_undo_cwnd")
u32 BPF_PROG(waimd_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#define WAIMD_OPS                                                                                                      \
	.ssthresh = (void *)waimd_ssthresh, .set_state = (void *)waimd_set_state,                                      \
	.pkts_acked = (void *)waimd_pkts_acked, .undo_cwnd = (void *)waimd_undo_cwnd,                                  \
	.cong_avoid = (void *)waimd_cong_avoid, .flags = TCP_CONG_NON_RESTRICTED

SEC(".struct_ops")
struct tcp_congestion_ops multcp = {.init = (void *)multcp_init, .name = "multcp", WAIMD_OPS};
SEC(".struct_ops")
struct tcp_congestion_ops ewtcp = {.init = (void *)ewtcp_init, .name = "ewtcp", WAIMD_OPS};
SEC(".struct_ops")
struct tcp_congestion_ops wcc_ai = {.init = (void *)wcc_ai_init, .name = "wcc_ai", WAIMD_OPS};
SEC(".struct_ops")
struct tcp_congestion_ops wcc_md = {.init = (void *)wcc_md_init, .name = "wcc_md", WAIMD_OPS};

CC_LICENSE("Dual MIT/GPL");
