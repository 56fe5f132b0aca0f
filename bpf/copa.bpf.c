// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * copa: adjusts cwnd towards the rate 1 / (delta qdelay), 1/delta packets in the queue per flow (NSDI 2018)
 *
 * Model, RTTmin = minimum RTT of the last 10 s, standing = minimum of the last srtt/2, q = standing - RTTmin:
 *
 *	target = standing / (delta q) packets, infinite if q = 0
 *	per packet acknowledged: cwnd += v / (delta cwnd) below the target, -= above it
 *	slow start: cwnd doubles every RTT until it reaches the target
 *	pacing at 2 cwnd / standing
 *
 * The velocity v starts at 1 and doubles each RTT once cwnd has moved in one direction for three RTTs; a change of
 * direction resets it to 1. Contract: rate = 1 / (delta q). n flows: RTT = Rm + n / (delta C) on average; the queue of
 * one flow oscillates by about 4 packets.
 *
 * Mode switch (off): if the queue has not been nearly empty (below a tenth of its range) for four srtt, other flows
 * keep it full: competitive mode does AIMD on 1/delta, + 1 per RTT, halved on loss, never below the default's.
 *
 * Source: Copa paper sections 2 and 2.2 (velocity, modes); starvation paper section 5.1.
 *
 * Deviations: integer microseconds, so q has a resolution of 1 us. Where the published user-space code differs from the
 * paper it is a parameter, `code_velocity`: the direction of an RTT is that of most of its updates, and v doubles from
 * the first RTT in the same direction on. v never exceeds delta cwnd, as in that code: no more than a doubling per RTT.
 * RTTmin counts 10 s (paper) by default; the code takes max(10 s, 20 RTTmin). Neither responds to single losses in
 * default mode. After a timeout slow start resumes. An oracle, where the scenario grants one, replaces RTTmin.
 */
#include "tcp.h"
#include "window_min.h"

#define COPA_PARAMS(P)                                                                                                 \
	P(delta_fp, "delta", CC_FIXED, CC_FP(0.5), CC_FP(0.001), CC_FP(10), "1/delta packets are queued per flow")     \
	P(min_rtt_window_us, "min_rtt_window", CC_US, 10000000, 1000, 2000000000ULL,                                   \
	  "length of the RTT minimum's window")                                                                        \
	P(mode_switch, "mode_switch", CC_FLAG, 0, 0, 1, "compete with flows that fill the queue")                      \
	P(code_velocity, "code_velocity", CC_FLAG, 0, 0, 1, "velocity as in the published code, not as in the paper")
CC_PARAMS(copa, COPA_PARAMS);

/* cwnd is in units of 2^-24 packets: at 10^4 packets, one ACK still changes cwnd by 3000 units. */
#define COPA_CWND_SHIFT 24
#define COPA_MIN_CWND 2ULL
#define COPA_MAX_CWND (1ULL << 26)
/* Number of rounds in one direction after which v doubles (paper). */
#define COPA_TIMEOUT 3
/* Mode decisions cover this many srtt; the queue is nearly empty below this fraction of its range. */
#define COPA_MODE_RTTS 4
#define COPA_NEARLY_EMPTY 10
#define COPA_NO_RTT 0xffffffffU

struct copa {
	u64 cwnd_fp; /* packets, 2^-24 */
	struct window_min rtt_min;
	struct window_min standing;
	u32 inverse_delta_fp; /* 1/delta, 2^-16 */
	u32 velocity;
	u32 round_seq; /* the round ends when this is acknowledged */
	u32 round_cwnd; /* cwnd at its start, packets */
	s32 ups; /* updates up less updates down in this round */
	u32 mode_start_us;
	u32 mode_min_rtt_us;
	u32 mode_max_rtt_us;
	u8 same_rounds; /* consecutive rounds in the same direction */
	bool is_up;
	bool is_slow_start;
	bool is_competitive;
};
CC_STATE_FITS(struct copa);

static __always_inline u32 copa_default_inverse(const struct copa_params *p)
{
	return CC_FP_ONE * CC_FP_ONE / p->delta_fp;
}

static __always_inline void copa_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);

	ca->cwnd_fp = (u64)tp->snd_cwnd << COPA_CWND_SHIFT;
	ca->velocity = 1;
	ca->same_rounds = 0;
	ca->is_slow_start = true;
	ca->ups = 0;
	ca->round_seq = tp->snd_nxt;
	ca->round_cwnd = tp->snd_cwnd;
}

SEC("struct_ops/copa_init")
void BPF_PROG(copa_init, struct sock *sk)
{
	struct copa *ca = inet_csk_ca(sk);
	const struct copa_params *p = cc_params(sk);
	u32 now_us = tcp_sk(sk)->tcp_mstamp;

	__builtin_memset(ca, 0, sizeof(*ca)); /* Linux calls cong_control for the SYN's ACK, before init */
	window_min_reset(&ca->rtt_min, now_us, COPA_NO_RTT);
	window_min_reset(&ca->standing, now_us, COPA_NO_RTT);
	ca->inverse_delta_fp = copa_default_inverse(p);
	ca->mode_start_us = now_us;
	ca->mode_min_rtt_us = COPA_NO_RTT;
	copa_restart(sk);
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

static __always_inline void copa_switch_mode(struct copa *ca, const struct copa_params *p, u32 now_us, u32 rtt_us,
					     u32 srtt_us, u32 rtt_min_us)
{
	u32 nearly_empty_us;

	ca->mode_min_rtt_us = min(ca->mode_min_rtt_us, rtt_us);
	ca->mode_max_rtt_us = max(ca->mode_max_rtt_us, rtt_us);
	if (!p->mode_switch || now_us - ca->mode_start_us < COPA_MODE_RTTS * srtt_us)
		return;
	nearly_empty_us = rtt_min_us + (max(ca->mode_max_rtt_us, rtt_min_us) - rtt_min_us) / COPA_NEARLY_EMPTY;
	ca->is_competitive = ca->mode_min_rtt_us > nearly_empty_us;
	if (!ca->is_competitive)
		ca->inverse_delta_fp = copa_default_inverse(p);
	ca->mode_start_us = now_us;
	ca->mode_min_rtt_us = COPA_NO_RTT;
	ca->mode_max_rtt_us = 0;
}

/* Once per RTT: update the direction and the velocity of cwnd. */
static __always_inline void copa_end_round(struct tcp_sock *tp, struct copa *ca, const struct copa_params *p)
{
	bool is_up = p->code_velocity ? ca->ups > 0 : tp->snd_cwnd > ca->round_cwnd;
	u32 patience = p->code_velocity ? 1 : COPA_TIMEOUT;

	if (ca->same_rounds && is_up == ca->is_up) {
		ca->same_rounds = min(ca->same_rounds + 1, 100);
	} else {
		ca->same_rounds = 1;
		ca->velocity = 1;
	}
	if (ca->same_rounds > patience)
		ca->velocity = min(ca->velocity * 2, 1U << 24);
	ca->is_up = is_up;
	ca->ups = 0;
	ca->round_seq = tp->snd_nxt;
	ca->round_cwnd = tp->snd_cwnd;
	if (ca->is_competitive)
		ca->inverse_delta_fp = min(ca->inverse_delta_fp + (u32)CC_FP_ONE, 1U << 31);
}

/* Returns v / (delta cwnd) for each of `acked` packets, in 2^-24 packets. */
static __always_inline u64 copa_step_fp(struct copa *ca, u32 acked)
{
	u64 cwnd_8 = ca->cwnd_fp >> (COPA_CWND_SHIFT - 8);
	u64 most = (cwnd_8 << 8) / ca->inverse_delta_fp; /* delta cwnd */

	if (ca->velocity > most)
		ca->velocity = max(most, 1ULL);
	return ((u64)ca->velocity * ca->inverse_delta_fp << (COPA_CWND_SHIFT - CC_FP_SHIFT + 8)) / cwnd_8 * acked;
}

CC_CONG_CONTROL(copa_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);
	const struct copa_params *p = cc_params(sk);
	u32 now_us = tp->tcp_mstamp;
	u32 srtt_us = tp->srtt_us >> 3;
	u32 oracle_us = cc_oracle_rtprop_us(sk);
	u64 cwnd_fp = ca->cwnd_fp;
	u32 rtt_us, rtt_min_us, standing_us;
	u64 target_fp = ~0ULL; /* 2^-16 packets */

	if (rs->rtt_us <= 0)
		return;
	rtt_us = rs->rtt_us;
	rtt_min_us = window_min_update(&ca->rtt_min, p->min_rtt_window_us, now_us, rtt_us);
	standing_us = window_min_update(&ca->standing, srtt_us / 2, now_us, rtt_us);
	if (oracle_us)
		rtt_min_us = oracle_us;
	copa_switch_mode(ca, p, now_us, rtt_us, srtt_us, rtt_min_us);

	if (standing_us > rtt_min_us)
		target_fp = (u64)standing_us * ca->inverse_delta_fp / (standing_us - rtt_min_us);
	if (ca->is_slow_start) {
		if (cwnd_fp >> (COPA_CWND_SHIFT - CC_FP_SHIFT) < target_fp)
			cwnd_fp += (u64)rs->acked_sacked << COPA_CWND_SHIFT;
		else
			ca->is_slow_start = false;
	} else {
		u64 step_fp = copa_step_fp(ca, rs->acked_sacked);

		if (cwnd_fp >> (COPA_CWND_SHIFT - CC_FP_SHIFT) < target_fp) {
			cwnd_fp += step_fp;
			ca->ups++;
		} else {
			cwnd_fp -= min(cwnd_fp, step_fp);
			ca->ups--;
		}
	}
	ca->cwnd_fp = clamp(cwnd_fp, COPA_MIN_CWND << COPA_CWND_SHIFT, COPA_MAX_CWND << COPA_CWND_SHIFT);
	tp->snd_cwnd = min((u32)(ca->cwnd_fp >> COPA_CWND_SHIFT), tp->snd_cwnd_clamp);
	if (!before(tp->snd_una, ca->round_seq))
		copa_end_round(tp, ca, p);
	sk->sk_pacing_rate = 2ULL * tp->snd_cwnd * tp->mss_cache * USEC_PER_SEC / max(standing_us, 1U);
}

/* The kernel calls this function once per loss episode; the window does not respond. */
SEC("struct_ops/copa_ssthresh")
u32 BPF_PROG(copa_ssthresh, struct sock *sk)
{
	struct copa *ca = inet_csk_ca(sk);

	if (ca->is_competitive)
		ca->inverse_delta_fp = max(ca->inverse_delta_fp / 2, copa_default_inverse(cc_params(sk)));
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/copa_set_state")
void BPF_PROG(copa_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		copa_restart(sk);
}

SEC("struct_ops/copa_undo_cwnd")
u32 BPF_PROG(copa_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops copa = {
	.init = (void *)copa_init,
	.ssthresh = (void *)copa_ssthresh,
	.undo_cwnd = (void *)copa_undo_cwnd,
	.set_state = (void *)copa_set_state,
	.cong_control = (void *)copa_cong_control,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "copa",
};

CC_LICENSE("Dual MIT/GPL");
