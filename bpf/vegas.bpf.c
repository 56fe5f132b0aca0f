// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * vegas: keeps between alpha and beta packets per flow in the queue (Brakmo and Peterson 1994, Linux's variant)
 *
 * Model, once per RTT, with base = minimum RTT of the flow's lifetime and rtt = minimum RTT of this round:
 *
 *	diff = cwnd (rtt - base) / rtt             packets of this flow in the queue
 *	slow start:  doubles; ends when diff > gamma, with cwnd = min(cwnd, cwnd base / rtt + 1)
 *	avoidance:   diff < alpha: cwnd += 1;  diff > beta: cwnd -= 1;  else hold
 *
 * With fewer than three RTT samples in a round, and on losses, it behaves as Reno; the measurement restarts after
 * recovery. Contract: rate = alpha / qdelay, so n flows with alpha = beta are in equilibrium at RTT = Rm + n alpha / C.
 *
 * Source: Linux's net/ipv4/tcp_vegas.c; starvation paper section 5.1; thesis section 6.3.
 *
 * Deviations: Linux divides by base instead of rtt. Its fixed point, qdelay (Rm + qdelay) rate = alpha Rm, is another
 * contract (rate ~ 1/qdelay^2 for long queues), so it is a parameter, `kernel_diff`, off by default. Slow start doubles
 * every RTT, as in Linux; in the paper, every second RTT. At its end Linux compares a window that has already doubled
 * again with the RTT of packets sent before. It stops at up to four BDP, and the window then falls by one packet per
 * RTT for minutes. Here the window is the one in which those packets were sent; `kernel_exit` selects Linux's. An
 * oracle, where the scenario grants one, replaces base.
 */
#include "tcp.h"

#define VEGAS_PARAMS(P)                                                                                                \
	P(alpha_pkts, "alpha", CC_PKTS, 2, 0, 1000000, "increase below this number of packets in the queue")           \
	P(beta_pkts, "beta", CC_PKTS, 4, 0, 1000000, "decrease above this number of packets in the queue")             \
	P(gamma_pkts, "gamma", CC_PKTS, 1, 0, 1000000, "end slow start above this number of packets in the queue")     \
	P(kernel_diff, "kernel_diff", CC_FLAG, 0, 0, 1,                                                                \
	  "divide by the base RTT, as Linux does, not by the round's minimum")                                         \
	P(kernel_exit, "kernel_exit", CC_FLAG, 0, 0, 1, "end slow start with a doubled window, as Linux does")
CC_PARAMS(vegas, VEGAS_PARAMS);

/* With fewer samples in a round, all samples could be from delayed ACKs (Linux). */
#define VEGAS_MIN_SAMPLES 3

struct vegas {
	u32 beg_snd_nxt; /* the round ends when this is acknowledged */
	u32 samples; /* RTT samples in this round */
	u32 min_rtt_us; /* their smallest */
	u32 base_rtt_us;
	u32 round_cwnd; /* at the start of this round ... */
	u32 sent_cwnd; /* ... and of the one before, when the packets measured now were sent */
	bool is_measuring; /* off during recovery */
};
CC_STATE_FITS(struct vegas);

#define VEGAS_NO_RTT 0x7fffffffU

static __always_inline void vegas_enable(struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	ca->is_measuring = true;
	ca->beg_snd_nxt = tcp_sk(sk)->snd_nxt;
	ca->samples = 0;
	ca->min_rtt_us = VEGAS_NO_RTT;
	ca->round_cwnd = ca->sent_cwnd = tcp_sk(sk)->snd_cwnd;
}

SEC("struct_ops/vegas_init")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	ca->base_rtt_us = VEGAS_NO_RTT;
	vegas_enable(sk);
}

static __always_inline void vegas_keep_ssthresh(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cc_ssthresh_is_of_prior_cwnd(tp, state))
		cc_keep_ssthresh(tp, tcp_reno_reduced(tp->prior_cwnd));
}

SEC("struct_ops/vegas_set_state")
void BPF_PROG(vegas_set_state, struct sock *sk, u8 new_state)
{
	struct vegas *ca = inet_csk_ca(sk);

	vegas_keep_ssthresh(sk, new_state);
	if (new_state == TCP_CA_Open)
		vegas_enable(sk);
	else
		ca->is_measuring = false;
}

SEC("struct_ops/vegas_cwnd_event")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	/* after an idle period the round is stale */
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		vegas_enable(sk);
}

SEC("struct_ops/vegas_pkts_acked")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *ca = inet_csk_ca(sk);
	u32 rtt_us;

	vegas_keep_ssthresh(sk, cc_ca_state(sk));
	if (sample->rtt_us < 0)
		return;
	rtt_us = (u32)sample->rtt_us + 1; /* never zero: it divides */
	ca->base_rtt_us = min(ca->base_rtt_us, rtt_us);
	ca->min_rtt_us = min(ca->min_rtt_us, rtt_us);
	ca->samples++;
}

/* Returns the ssthresh for slow start, at most the window that Vegas has just chosen. */
static __always_inline u32 vegas_capped_ssthresh(const struct tcp_sock *tp)
{
	return min(tp->snd_ssthresh, tp->snd_cwnd - 1);
}

static __always_inline void vegas_round(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);
	const struct vegas_params *p = cc_params(sk);
	u32 oracle_us = cc_oracle_rtprop_us(sk);
	u32 base_us = oracle_us ? oracle_us + 1 : ca->base_rtt_us;
	u32 rtt_us = max(ca->min_rtt_us, base_us);
	bool is_doubling = tcp_in_slow_start(tp) && !p->kernel_exit;
	u64 cwnd = is_doubling ? ca->sent_cwnd : tp->snd_cwnd;
	u32 diff = cwnd * (rtt_us - base_us) / (p->kernel_diff ? base_us : rtt_us);

	if (tcp_in_slow_start(tp)) {
		if (diff > p->gamma_pkts) {
			u32 target = cwnd * base_us / rtt_us;

			tp->snd_cwnd = min(tp->snd_cwnd, target + 1);
			tp->snd_ssthresh = vegas_capped_ssthresh(tp);
		} else {
			tcp_slow_start(tp, acked);
		}
	} else if (diff > p->beta_pkts) {
		tp->snd_cwnd--;
		tp->snd_ssthresh = vegas_capped_ssthresh(tp);
	} else if (diff < p->alpha_pkts) {
		tp->snd_cwnd++;
	}
	tp->snd_cwnd = clamp(tp->snd_cwnd, 2U, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
}

SEC("struct_ops/vegas_cong_avoid")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);

	if (!ca->is_measuring) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (after(ack, ca->beg_snd_nxt)) {
		ca->beg_snd_nxt = tp->snd_nxt;
		if (ca->samples < VEGAS_MIN_SAMPLES)
			tcp_reno_cong_avoid(sk, ack, acked);
		else
			vegas_round(sk, acked);
		ca->samples = 0;
		ca->min_rtt_us = VEGAS_NO_RTT;
		ca->sent_cwnd = ca->round_cwnd;
		ca->round_cwnd = tp->snd_cwnd;
	} else if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
	}
}

SEC("struct_ops/vegas_ssthresh")
u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/vegas_undo_cwnd")
u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops vegas = {
	.init = (void *)vegas_init,
	.ssthresh = (void *)vegas_ssthresh,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.cong_avoid = (void *)vegas_cong_avoid,
	.pkts_acked = (void *)vegas_pkts_acked,
	.set_state = (void *)vegas_set_state,
	.cwnd_event = (void *)vegas_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "vegas",
};

CC_LICENSE("Dual MIT/GPL");
