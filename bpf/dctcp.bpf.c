// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * dctcp: cuts the window in proportion to the fraction of marked packets (RFC 8257)
 *
 * Model, cwnd in packets, once per window of data:
 *
 *	F = marked / delivered in the window that ends
 *	a = (1 - g) a + g F
 *	the first mark in a window: ssthresh = max(cwnd (1 - a/2), 2)
 *	a lost packet: ssthresh = max(cwnd / 2, 2)
 *
 * The rest is Reno. Contract: cwnd = 2 / F^2.
 *
 * The receiver's half: the ECE flag of every ACK is the mark of the packets that it acknowledges, so that the sender can
 * count marks. When packets with and without a mark follow each other, the ACK of the earlier ones is sent first.
 *
 * The simulator runs crates/cca/src/dctcp.rs, which is faster, and whose receivers echo every mark;
 * crates/sim/tests/cca_dctcp.rs compares the two.
 *
 * Source: RFC 8257 sections 3.2 to 3.5.
 */
#include "tcp.h"

/* a and F in 1/1024. */
#define DCTCP_SHIFT 10
#define DCTCP_ONE (1U << DCTCP_SHIFT)

#define DCTCP_PARAMS(P)                                                                                                \
	P(shift_g, "shift_g", CC_NUMBER, 4, 0, DCTCP_SHIFT, "g = 2^-shift_g, the weight of a new F")                   \
	P(initial_alpha, "initial_alpha", CC_FIXED, CC_FP_ONE, 0, CC_FP_ONE, "a at the start")
CC_PARAMS(dctcp, DCTCP_PARAMS);

struct dctcp_state {
	u32 window_end; /* the window of data ends when this byte is acknowledged */
	u32 delivered; /* packets, at the window's start */
	u32 delivered_ce;
	u32 alpha; /* a, 1/1024 */
	u32 cut_alpha; /* a at the start of the last episode */
	u8 shift_g;
};
CC_STATE_FITS(struct dctcp_state);

static __always_inline void dctcp_begin_window(struct dctcp_state *ca, const struct tcp_sock *tp)
{
	ca->window_end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/dctcp_init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	const struct dctcp_params *p = cc_params(sk);
	struct dctcp_state *ca = inet_csk_ca(sk);

	ca->alpha = p->initial_alpha >> (CC_FP_SHIFT - DCTCP_SHIFT);
	ca->cut_alpha = ca->alpha;
	ca->shift_g = p->shift_g;
	dctcp_begin_window(ca, tcp_sk(sk));
}

SEC("struct_ops/dctcp_in_ack_event")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct dctcp_state *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 g = min(ca->shift_g, DCTCP_SHIFT), decay, fresh;

	if (before(tp->snd_una, ca->window_end))
		return;
	/* at least one unit, so that a becomes zero without marks */
	decay = max(ca->alpha >> g, min(ca->alpha, 1U));
	fresh = ((tp->delivered_ce - ca->delivered_ce) << (DCTCP_SHIFT - g)) / max(tp->delivered - ca->delivered, 1U);
	ca->alpha = min(ca->alpha - decay + fresh, DCTCP_ONE);
	dctcp_begin_window(ca, tp);
}

static __always_inline u32 dctcp_reduced(u32 cwnd, u32 alpha)
{
	return max(cwnd - (u32)((u64)cwnd * alpha >> (DCTCP_SHIFT + 1)), 2U);
}

SEC("struct_ops/dctcp_ssthresh")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct dctcp_state *ca = inet_csk_ca(sk);

	return dctcp_reduced(tcp_sk(sk)->snd_cwnd, ca->alpha);
}

static __always_inline void dctcp_keep_ssthresh(struct sock *sk, u8 state)
{
	const struct dctcp_state *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!cc_ssthresh_is_of_prior_cwnd(tp, state))
		return;
	/* Marks change the state to CWR, losses to Recovery or Loss. */
	if (state == TCP_CA_Recovery || state == TCP_CA_Loss)
		cc_keep_ssthresh(tp, tcp_reno_reduced(tp->prior_cwnd));
	else
		cc_keep_ssthresh(tp, dctcp_reduced(tp->prior_cwnd, ca->cut_alpha));
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, u8 new_state)
{
	struct dctcp_state *ca = inet_csk_ca(sk);

	if (new_state != cc_ca_state(sk))
		ca->cut_alpha = ca->alpha;
	dctcp_keep_ssthresh(sk, new_state);
}

SEC("struct_ops/dctcp_pkts_acked")
void BPF_PROG(dctcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	dctcp_keep_ssthresh(sk, cc_ca_state(sk));
}

SEC("struct_ops/dctcp_cong_avoid")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/dctcp_undo_cwnd")
u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#ifdef __bpf__
/* State of a receiver, apart from the flow's state, which belongs to the sender's half. */
struct dctcp_echo {
	u32 rcv_nxt; /* at the last packet */
	u32 is_marked; /* whether the last packet was */
};

struct {
	__uint(type, CC_SK_STORAGE);
	__uint(map_flags, CC_NO_PREALLOC);
	__type(key, int);
	__type(value, struct dctcp_echo);
} dctcp_echo_of_flow SEC(".maps");

static __always_inline void dctcp_set_ece(struct tcp_sock *tp, bool is_marked)
{
	if (is_marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* RFC 8257 section 3.2, figure 1 */
static __always_inline void dctcp_receive(struct sock *sk, bool is_marked)
{
	struct dctcp_echo *echo = bpf_sk_storage_get(&dctcp_echo_of_flow, sk, 0, CC_CREATE);
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!echo)
		return;
	if (echo->is_marked != is_marked) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			dctcp_set_ece(tp, echo->is_marked);
			bpf_tcp_send_ack(tp, echo->rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	echo->rcv_nxt = tp->rcv_nxt;
	echo->is_marked = is_marked;
	dctcp_set_ece(tp, is_marked);
}

SEC("struct_ops/dctcp_cwnd_event")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		dctcp_receive(sk, true);
	else if (event == CA_EVENT_ECN_NO_CE)
		dctcp_receive(sk, false);
}
#endif

SEC(".struct_ops")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.pkts_acked = (void *)dctcp_pkts_acked,
	.set_state = (void *)dctcp_set_state,
#ifdef __bpf__
	.cwnd_event = (void *)dctcp_cwnd_event,
#endif
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "dctcp",
};

CC_LICENSE("Dual MIT/GPL");
