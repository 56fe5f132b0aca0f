// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * expo: rate exponential in delay, so that jitter up to D changes it by at most a factor s (starvation paper, Algorithm
 * 1)
 *
 * Model, once every Rm, with q = latest RTT - Rm:
 *
 *	target(q) = mu_minus s^((Rmax - q) / D)
 *	rate < target: rate += a;   else: rate *= b
 *
 * Paced at `rate`. Contract: rate = C0 exp(-q / S0), S0 = D / ln s. Rates from mu_minus to mu_minus s^((Rmax - D)/D)
 * that differ by a factor s differ by more than D of delay. The rate is an integral of the queue, so AIMD oscillates
 * about the function: the queue is above it where a > (1 - b) rate and below it, down to an empty queue, where a is
 * less; all flows oscillate together.
 *
 * Source: starvation paper section 6.2, Equation 2 and Algorithm 1.
 *
 * Deviations: the published algorithm is incomplete, as its authors state; the additions are minimal. Rm is the minimum
 * RTT so far, or the oracle's. cwnd is twice the BDP of the rate at Rm + Rmax, which limits the data sent into a link
 * that fails. Losses are ignored; after a timeout the next ACK restores the window. Rmax is a bound on queueing delay,
 * because the algorithm subtracts Rm where Equation 2 does not. The rate never falls below 2 packets per Rm + Rmax. The
 * paper gives no values for a, b and mu_minus: the defaults give a utilization of 97 % from 10 to 500 Mbps.
 */
#include "tcp.h"

#define EXPO_PARAMS(P)                                                                                                 \
	P(mu_minus_bytes_per_s, "mu_minus", CC_RATE, 125000, 125, 125000000000ULL, "rate at a queueing delay of rmax") \
	P(s_fp, "s", CC_FIXED, CC_FP(2), CC_FP(1.01), CC_FP(64), "maximum factor in rate from jitter of d")            \
	P(d_us, "d", CC_US, 10000, 1, 10000000, "tolerated jitter")                                                    \
	P(rmax_us, "rmax", CC_US, 100000, 1, 100000000, "maximum queueing delay")                                      \
	P(a_bytes_per_s, "a", CC_RATE, 25000, 1, 125000000000ULL, "increase per rtprop")                               \
	P(b_fp, "b", CC_FIXED, CC_FP(0.98), CC_FP(0.01), CC_FP(0.999), "factor of a decrease")
CC_PARAMS(expo, EXPO_PARAMS);

struct expo {
	u64 rate_bytes_per_s;
	u64 update_us; /* when the rate last changed */
	u32 rtprop_us; /* smallest RTT, or the oracle's; 0 before the first sample */
	u32 log2_s_fp; /* log2 s, 1/CC_FP_ONE, rounded down */
};
CC_STATE_FITS(struct expo);

/* Maximum rate: 2^43 bytes/s = 70 Tbit/s, far below overflow in the computations below. */
#define EXPO_MAX_RATE (1ULL << 43)

/* Returns log2 of x in [1, 64], both in 1/CC_FP_ONE, by squaring the mantissa; each squaring gives one bit. */
static __always_inline u32 expo_log2_fp(u64 x_fp)
{
	u32 log = 0;

	for (int i = 0; i < 6 && x_fp >= 2 * CC_FP_ONE; i++) {
		x_fp >>= 1;
		log += CC_FP_ONE;
	}
	for (u32 bit = CC_FP_ONE / 2; bit; bit >>= 1) {
		x_fp = x_fp * x_fp >> CC_FP_SHIFT;
		if (x_fp >= 2 * CC_FP_ONE) {
			x_fp >>= 1;
			log += bit;
		}
	}
	return log;
}

/* 2^(1/2), 2^(1/4), ... 2^(1/65536), in 2^-30. */
static const u32 expo_roots[CC_FP_SHIFT] = {
	1518500250, 1276901417, 1170923762, 1121280436, 1097253708, 1085434106, 1079572136, 1076653033,
	1075196443, 1074468888, 1074105294, 1073923544, 1073832680, 1073787251, 1073764537, 1073753181,
};

/* Returns rate * 2^e, e in 1/CC_FP_ONE. */
static __always_inline u64 expo_scale_up(u64 rate, u64 e_fp)
{
	u64 mantissa = 1ULL << 30;
	u64 whole = e_fp >> CC_FP_SHIFT;

	for (int i = 0; i < CC_FP_SHIFT; i++) {
		if (e_fp & (CC_FP_ONE >> 1 >> i))
			mantissa = mantissa * expo_roots[i] >> 30;
	}
	if (whole >= 43 || rate >= EXPO_MAX_RATE >> whole)
		return EXPO_MAX_RATE;
	rate <<= whole;
	/* rate < 2^43 and mantissa < 2^31: computed in two halves, because the product may not fit in 64 bits */
	return (rate >> 20) * mantissa / (1 << 10) + ((rate & 0xfffff) * mantissa >> 30);
}

/* Returns rate / 2^e, e in 1/CC_FP_ONE: the whole part of e is rounded up, and scaling up corrects the difference. */
static __always_inline u64 expo_scale_down(u64 rate, u64 e_fp)
{
	u64 whole = (e_fp + CC_FP_ONE - 1) >> CC_FP_SHIFT;

	if (whole >= 43)
		return 0;
	return expo_scale_up(rate, (whole << CC_FP_SHIFT) - e_fp) >> whole;
}

static __always_inline u64 expo_target(const struct expo *ca, const struct expo_params *p, u32 qdelay_us)
{
	if (qdelay_us <= p->rmax_us)
		return expo_scale_up(p->mu_minus_bytes_per_s, (p->rmax_us - qdelay_us) * ca->log2_s_fp / p->d_us);
	return expo_scale_down(p->mu_minus_bytes_per_s, (qdelay_us - p->rmax_us) * ca->log2_s_fp / p->d_us);
}

/* Sets the pacing rate, and a window that is large enough not to limit the flow. */
static __always_inline void expo_apply(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct expo *ca = inet_csk_ca(sk);
	const struct expo_params *p = cc_params(sk);
	u64 longest_us = ca->rtprop_us + p->rmax_us;
	u64 mss = max(tp->mss_cache, 1U);
	u64 window = ca->rate_bytes_per_s / mss * longest_us / USEC_PER_SEC * 2;

	tp->snd_cwnd = clamp(window, 10ULL, (u64)tp->snd_cwnd_clamp);
	sk->sk_pacing_rate = ca->rate_bytes_per_s;
}

SEC("struct_ops/expo_init")
void BPF_PROG(expo_init, struct sock *sk)
{
	struct expo *ca = inet_csk_ca(sk);
	const struct expo_params *p = cc_params(sk);

	ca->rate_bytes_per_s = p->mu_minus_bytes_per_s;
	ca->update_us = 0;
	ca->rtprop_us = cc_oracle_rtprop_us(sk);
	ca->log2_s_fp = expo_log2_fp(p->s_fp);
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	expo_apply(sk);
}

CC_CONG_CONTROL(expo_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct expo *ca = inet_csk_ca(sk);
	const struct expo_params *p = cc_params(sk);
	u64 now_us = tp->tcp_mstamp;
	u64 rate = ca->rate_bytes_per_s;
	u64 mss = tp->mss_cache;
	u32 rtt_us;

	if (rs->rtt_us <= 0)
		return;
	rtt_us = rs->rtt_us;
	if (!cc_oracle_rtprop_us(sk) && (!ca->rtprop_us || rtt_us < ca->rtprop_us))
		ca->rtprop_us = rtt_us;
	if (now_us - ca->update_us < ca->rtprop_us)
		return;
	ca->update_us = now_us;

	if (rate < expo_target(ca, p, rtt_us > ca->rtprop_us ? rtt_us - ca->rtprop_us : 0))
		rate = min(rate + p->a_bytes_per_s, EXPO_MAX_RATE);
	else
		rate = (rate >> 20) * p->b_fp * 16 + ((rate & 0xfffff) * p->b_fp >> CC_FP_SHIFT);
	ca->rate_bytes_per_s = max(rate, 2 * mss * USEC_PER_SEC / (ca->rtprop_us + p->rmax_us));
	expo_apply(sk);
}

SEC("struct_ops/expo_ssthresh")
u32 BPF_PROG(expo_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/expo_undo_cwnd")
u32 BPF_PROG(expo_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops expo = {
	.init = (void *)expo_init,
	.ssthresh = (void *)expo_ssthresh,
	.undo_cwnd = (void *)expo_undo_cwnd,
	.cong_control = (void *)expo_cong_control,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "expo",
};

CC_LICENSE("Dual MIT/GPL");
