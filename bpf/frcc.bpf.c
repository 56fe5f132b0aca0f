// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * frcc: estimates the number of flows by probing the link's capacity, and targets theta of delay per flow (NSDI 2026)
 *
 * Model, R = minimum RTT of the flow's lifetime, rRTT and rtput = minimum RTT and maximum cwnd/RTT of this round:
 *
 *	N_T = (rRTT - R) / theta             number of flows for which the contract has this delay
 *	E   = max(gamma N_T rtput D, 1)      packets of a probe
 *	C   = E / excess delay               infinite if there is none
 *	N_C = max(C / rtput, 1)              number of flows by that capacity
 *	cwnd *= (R + theta N_C) / (R + theta N_T), within [1 / delta_l, delta_h]
 *
 * Contract: delay = theta N. On an ideal link RTT = R + theta N at every link rate. Flows of different rtprops settle
 * at rates proportional to R_i + theta N + gamma D (docs/derivations.md).
 *
 * A round has 2 N_T slots (at least 6, at most 20), each four times the maximum RTT long; one slot of each round, drawn
 * at random, is a probe:
 *
 *	RAMP    cwnd + E, paced over an RTT; until what was sent before is acknowledged
 *	SETTLE  until two RTTs have passed and the ramp's packets are acknowledged
 *	MEASURE for one RTT packets are sent whose smallest RTT less the previous slot's is the excess delay
 *	DRAIN   cwnd falls by E over an RTT; the slot ends when the measured packets are acknowledged
 *
 * Every 30 s all flows drain the queue together for R (cwnd 4 for 100 ms plus the queueing delay).
 *
 * Source: FRCC paper, Algorithms 1 and 2, sections 5 and B.4; what they leave out follows the published kernel module
 * (docs/ccas/frcc.md).
 *
 * Where the paper and the kernel module differ:
 *
 *	                          here          paper          kernel          parameter
 *	clamps act on             target cwnd   N_C            target cwnd     clamp_flow_count
 *	delta_l                   1.25          1.25           1.306           delta_l
 *	excess delay < 0          C infinite    C infinite     no sample       skip_negative_excess
 *	excess delay = 0          C infinite    C infinite     overflow        -
 *	a probe's RTT sample      by packet     by packet      by snd_una      cumulative_probe
 *	clock of rtprop probes    wall          wall (NTP)     since boot      boot_clock
 *
 * The clamps are the kernel's because the published figures were made with them: with clamps on N_C a flow with R = 5
 * theta changes by only 5 to 9 % per round.
 *
 * While a lost packet holds snd_una back, the kernel attributes the RTTs of packets sent in the drain to the probe: it
 * measures no excess delay, and 1 % random loss suffices for a queue of 0.2 s.
 *
 * Deviations: arithmetic is finer than the kernel's 1/256 (N_T in 2^-16 flows, below 1/256 still counts as none; rates
 * in 2^-24 packets per us); the drain is exact, not a step rounded to 1/256 of a packet. An oracle, where the scenario
 * grants one, replaces R.
 */
#include "tcp.h"

#define FRCC_PARAMS(P)                                                                                                 \
	P(theta_us, "theta", CC_US, 10000, 10, 10000000, "queueing delay kept per flow")                               \
	P(d_us, "d", CC_US, 10000, 10, 10000000, "tolerated jitter")                                                   \
	P(gamma, "gamma", CC_NUMBER, 4, 1, 64, "a probe's excess delay, in d per target flow")                         \
	P(alpha_fp, "alpha", CC_FIXED, CC_FP(1), CC_FP(0.01), CC_FP(1), "weight of the target in a cwnd update")       \
	P(delta_h_fp, "delta_h", CC_FIXED, CC_FP(1.296875), CC_FP(1), CC_FP(16), "maximum increase per round")         \
	P(delta_l_fp, "delta_l", CC_FIXED, CC_FP(1.25), CC_FP(1), CC_FP(16), "maximum decrease per round")             \
	P(clamp_flow_count, "clamp_flow_count", CC_FLAG, 0, 0, 1, "clamp N_C (paper), not the target cwnd (kernel)")   \
	P(skip_negative_excess, "skip_negative_excess", CC_FLAG, 0, 0, 1, "ignore negative excess delays (kernel)")    \
	P(cumulative_probe, "cumulative_probe", CC_FLAG, 0, 0, 1,                                                      \
	  "a probe's packets are those below snd_una (kernel)")                                                        \
	P(min_slots, "min_slots", CC_NUMBER, 6, 2, 250, "minimum slots per round")                                     \
	P(max_slots, "max_slots", CC_NUMBER, 20, 2, 250, "maximum slots per round")                                    \
	P(slots_per_flow, "slots_per_flow", CC_NUMBER, 2, 1, 16, "slots per round and target flow")                    \
	P(probe_interval_us, "probe_interval", CC_US, 30000000, 0, 3600000000ULL, "rtprop probe interval; 0: none")    \
	P(rmax_us, "rmax", CC_US, 100000, 0, 10000000, "maximum rtprop of competing flows")                            \
	P(boot_clock, "boot_clock", CC_FLAG, 0, 0, 1, "schedule rtprop probes by the time since boot, not wall time")
CC_PARAMS(frcc, FRCC_PARAMS);

#define FRCC_MIN_CWND 4U
#define FRCC_SLOT_RTTS 4
#define FRCC_NO_RTT 0xffffffffU
/* Rates are in packets per us, in fixed point: 2^-24 packets per us are 0.06 packets per second. */
#define FRCC_RATE_SHIFT 24
/* Maximum packets of a probe; keeps E << 40 within 64 bits. */
#define FRCC_MAX_EXTRA (1U << 23)
/* N_C above this is treated as infinite: the clamps apply far below it. */
#define FRCC_MAX_FLOWS_FP (1ULL << 40)

enum frcc_start { FRCC_SLOW_START, FRCC_SLOW_START_END, FRCC_STARTED };
enum frcc_probe { FRCC_CRUISE, FRCC_RAMP, FRCC_SETTLE, FRCC_MEASURE, FRCC_DRAIN };
enum frcc_rtprop { FRCC_RTPROP_IDLE, FRCC_RTPROP_LOW, FRCC_RTPROP_WAIT };

struct frcc {
	u64 rate_max_fp; /* rtput of the round */
	u32 rtprop_us; /* R */
	u32 round_min_rtt_us; /* rRTT */
	u32 slot_start_us;
	u32 slot_min_rtt_us;
	u32 slot_max_qdelay_us;
	u32 probe_start_us;
	u32 measure_start_us;
	u32 probe_base_rtt_us; /* smallest RTT of the slot before the probe */
	s32 probe_excess_us; /* minimum excess delay so far */
	u32 probe_extra; /* E, packets */
	u32 saved_cwnd; /* before the probe */
	u32 mark_seq; /* end of slow start, or of the ramp */
	u32 first_seq; /* measured packets: first ... */
	u32 last_seq; /* ... and end */
	u32 drain_cwnd; /* at the start of the drain */
	u32 drain_acked; /* packets delivered since */
	u32 rtprop_epoch; /* interval of the last rtprop probe */
	u32 rtprop_start_us;
	u32 rtprop_saved_cwnd;
	u8 start; /* enum frcc_start */
	u8 probe; /* enum frcc_probe */
	u8 rtprop; /* enum frcc_rtprop */
	u8 slots; /* slots of this round so far */
	u8 probe_slot; /* which of them probes */
	bool has_probed; /* in this round */
	bool has_excess; /* of this probe */
};
CC_STATE_FITS(struct frcc);

static __always_inline u32 frcc_max_rtt_us(const struct frcc *ca)
{
	return ca->rtprop_us + ca->slot_max_qdelay_us;
}

/* Returns N_T, in 1/CC_FP_ONE. */
static __always_inline u64 frcc_target_flows_fp(const struct frcc *ca, const struct frcc_params *p)
{
	if (ca->round_min_rtt_us == FRCC_NO_RTT || ca->round_min_rtt_us <= ca->rtprop_us)
		return 0;
	return ((u64)(ca->round_min_rtt_us - ca->rtprop_us) << CC_FP_SHIFT) / p->theta_us;
}

static __always_inline u32 frcc_slot_count(const struct frcc *ca, const struct frcc_params *p)
{
	u64 n = p->slots_per_flow * frcc_target_flows_fp(ca, p) >> CC_FP_SHIFT;

	return clamp(n, p->min_slots, max(p->min_slots, p->max_slots));
}

static __always_inline void frcc_start_slot(struct frcc *ca, u32 now_us)
{
	ca->slot_start_us = now_us;
	ca->slot_min_rtt_us = FRCC_NO_RTT;
	ca->slot_max_qdelay_us = 0;
}

/* Draws the slot that probes. The first slot of a round never probes. */
static __always_inline void frcc_start_round(struct sock *sk, struct frcc *ca, const struct frcc_params *p)
{
	u32 n = frcc_slot_count(ca, p);

	ca->probe_slot = 1 + cc_rand(sk) % max(n - 1, 1U);
	ca->slots = 0;
	ca->has_probed = false;
	ca->round_min_rtt_us = FRCC_NO_RTT;
	ca->rate_max_fp = 0;
}

static __always_inline void frcc_set_cwnd(struct tcp_sock *tp, u64 cwnd)
{
	tp->snd_cwnd = clamp(cwnd, (u64)FRCC_MIN_CWND, max((u64)tp->snd_cwnd_clamp, (u64)FRCC_MIN_CWND));
}

static __always_inline void frcc_pace(struct sock *sk, u64 bytes, u32 in_us)
{
	sk->sk_pacing_rate = bytes * USEC_PER_SEC / max(in_us, 1U);
}

/* Paces at twice the window per R, so that the window, not pacing, limits the flow. */
static __always_inline void frcc_pace_loosely(struct sock *sk, const struct frcc *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	frcc_pace(sk, 2ULL * tp->snd_cwnd * tp->mss_cache, ca->rtprop_us);
}

/* Returns whether the packet that ends at `end_seq` was sent in the probe's measurement window. */
static __always_inline bool frcc_is_part_of_probe(const struct frcc *ca, u32 end_seq)
{
	if (ca->probe == FRCC_MEASURE)
		return !before(end_seq, ca->first_seq);
	return ca->probe == FRCC_DRAIN && !before(end_seq, ca->first_seq) && !after(end_seq, ca->last_seq);
}

static __always_inline void frcc_update_estimates(struct sock *sk, struct frcc *ca, const struct frcc_params *p,
						  const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = rs->rtt_us;
	u32 end_seq = p->cumulative_probe ? tp->snd_una : rs->last_end_seq;
	u32 srtt_us = tp->srtt_us >> 3;

	if (!cc_oracle_rtprop_us(sk)) {
		ca->rtprop_us = min(ca->rtprop_us, rtt_us);
		if (srtt_us)
			ca->rtprop_us = min(ca->rtprop_us, srtt_us); /* it has seen the handshake's RTT */
	}
	ca->round_min_rtt_us = min(ca->round_min_rtt_us, rtt_us);
	ca->slot_min_rtt_us = min(ca->slot_min_rtt_us, rtt_us);
	if (rtt_us > ca->rtprop_us)
		ca->slot_max_qdelay_us = max(ca->slot_max_qdelay_us, rtt_us - ca->rtprop_us);
	if (ca->probe == FRCC_CRUISE) {
		u64 rate_fp = ((u64)tp->snd_cwnd << FRCC_RATE_SHIFT) / rtt_us;

		ca->rate_max_fp = max(ca->rate_max_fp, rate_fp);
	} else if (frcc_is_part_of_probe(ca, end_seq)) {
		s32 excess_us = (s32)(rtt_us - ca->probe_base_rtt_us);

		if (excess_us >= 0 || !p->skip_negative_excess) {
			ca->probe_excess_us = ca->has_excess ? min(ca->probe_excess_us, excess_us) : excess_us;
			ca->has_excess = true;
		}
	}
}

static __always_inline void frcc_start_probe(struct sock *sk, struct frcc *ca, const struct frcc_params *p, u32 now_us,
					     u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	/* gamma rtput D, packets in 1/256; no overflow for rates below 2^8 packets per us and D below 10 s */
	u64 per_flow = (ca->rate_max_fp * p->d_us >> (FRCC_RATE_SHIFT - 8)) * p->gamma;
	u64 extra = (per_flow * (frcc_target_flows_fp(ca, p) >> 8) + 0xffff) >> 16;

	ca->probe_extra = clamp(extra, 1ULL, (u64)FRCC_MAX_EXTRA);
	ca->saved_cwnd = tp->snd_cwnd;
	ca->probe_base_rtt_us = ca->slot_min_rtt_us;
	ca->has_excess = false;
	ca->has_probed = true;
	ca->probe_start_us = now_us;
	ca->mark_seq = tp->snd_nxt;
	ca->probe = FRCC_RAMP;
	frcc_set_cwnd(tp, (u64)tp->snd_cwnd + ca->probe_extra);
	frcc_pace(sk, (u64)tp->snd_cwnd * tp->mss_cache, rtt_us);
}

static __always_inline void frcc_drain(struct tcp_sock *tp, struct frcc *ca, u32 acked)
{
	u64 drained;

	ca->drain_acked += acked;
	drained = (u64)ca->drain_acked * ca->probe_extra / max(ca->drain_cwnd, 1U);
	frcc_set_cwnd(tp, ca->drain_cwnd - min(drained, (u64)min(ca->probe_extra, ca->drain_cwnd)));
}

/* Advances the probe by at most one step per ACK; frcc_drain() advances the drain. */
static __always_inline void frcc_step_probe(struct sock *sk, struct frcc *ca, u32 now_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (ca->probe == FRCC_RAMP) {
		if (before(tp->snd_una, ca->mark_seq))
			return;
		frcc_pace_loosely(sk, ca);
		ca->mark_seq = tp->snd_nxt;
		ca->probe = FRCC_SETTLE;
	} else if (ca->probe == FRCC_SETTLE) {
		if (before(tp->snd_una, ca->mark_seq) || now_us - ca->probe_start_us < 2 * frcc_max_rtt_us(ca))
			return;
		ca->first_seq = tp->snd_nxt;
		ca->measure_start_us = now_us;
		ca->probe = FRCC_MEASURE;
	} else if (ca->probe == FRCC_MEASURE) {
		if (now_us - ca->measure_start_us <= frcc_max_rtt_us(ca))
			return;
		ca->last_seq = tp->snd_nxt;
		ca->drain_cwnd = tp->snd_cwnd;
		ca->drain_acked = 0;
		ca->probe = FRCC_DRAIN;
	}
}

/* Returns N_C in 1/CC_FP_ONE, from the probe that has just ended. */
static __always_inline u64 frcc_current_flows_fp(const struct frcc *ca)
{
	u64 flows_fp;

	if (!ca->has_excess)
		return CC_FP_ONE; /* an unbounded excess delay: no capacity above our own */
	if (ca->probe_excess_us <= 0)
		return FRCC_MAX_FLOWS_FP;
	flows_fp = ((u64)ca->probe_extra << (FRCC_RATE_SHIFT + CC_FP_SHIFT)) /
		   max((u64)ca->probe_excess_us * ca->rate_max_fp, 1ULL);
	return clamp(flows_fp, CC_FP_ONE, FRCC_MAX_FLOWS_FP);
}

static __always_inline void frcc_update_cwnd(struct tcp_sock *tp, struct frcc *ca, const struct frcc_params *p)
{
	u64 cwnd = ca->saved_cwnd;
	u64 most = cwnd * p->delta_h_fp;
	u64 least = (cwnd << (2 * CC_FP_SHIFT)) / p->delta_l_fp;
	u64 target_flows_fp = frcc_target_flows_fp(ca, p);
	u64 target_fp = most;

	if (target_flows_fp >= CC_FP_ONE / 256 && ca->rate_max_fp) {
		u64 flows_fp = frcc_current_flows_fp(ca);

		if (p->clamp_flow_count)
			flows_fp = clamp(flows_fp, (target_flows_fp << CC_FP_SHIFT) / p->delta_l_fp,
					 target_flows_fp * p->delta_h_fp >> CC_FP_SHIFT);
		/* R + theta N in 1/CC_FP_ONE us; with cwnd < 2^31 and the quotient in 1/2^16 there is no overflow up
		 * to 2^17 flows */
		u64 rtt_fp = ((u64)ca->rtprop_us << CC_FP_SHIFT) + p->theta_us * target_flows_fp;
		u64 target_rtt_fp = ((u64)ca->rtprop_us << CC_FP_SHIFT) + p->theta_us * min(flows_fp, 1ULL << 33);
		u64 factor_fp = target_rtt_fp / max(rtt_fp >> CC_FP_SHIFT, 1ULL);

		target_fp = cwnd * min(factor_fp, 32 * CC_FP_ONE);
		if (!p->clamp_flow_count)
			target_fp = clamp(target_fp, least, most);
	}
	target_fp = ((cwnd << CC_FP_SHIFT) * (CC_FP_ONE - p->alpha_fp) >> CC_FP_SHIFT) +
		    (target_fp * (p->alpha_fp >> 8) >> (CC_FP_SHIFT - 8));
	frcc_set_cwnd(tp, (target_fp + CC_FP_ONE - 1) >> CC_FP_SHIFT);
}

static __always_inline bool frcc_slot_ended(const struct tcp_sock *tp, const struct frcc *ca, u32 now_us)
{
	if (ca->probe == FRCC_CRUISE)
		return now_us - ca->slot_start_us > FRCC_SLOT_RTTS * frcc_max_rtt_us(ca);
	return ca->probe == FRCC_DRAIN && !before(tp->snd_una, ca->last_seq);
}

static __always_inline void frcc_end_slot(struct sock *sk, struct frcc *ca, const struct frcc_params *p, u32 now_us,
					  u32 rtt_us)
{
	if (ca->probe == FRCC_DRAIN) {
		frcc_update_cwnd(tcp_sk(sk), ca, p);
		ca->probe = FRCC_CRUISE;
	}
	if (ca->slots >= frcc_slot_count(ca, p))
		frcc_start_round(sk, ca, p);
	if (ca->slots >= 1 && !ca->has_probed && ca->slots >= ca->probe_slot)
		frcc_start_probe(sk, ca, p, now_us, rtt_us);
	frcc_start_slot(ca, now_us);
	ca->slots++;
}

/* Returns whether this ACK belongs to the probe for R, which is due once per interval of the clock. */
static __always_inline bool frcc_probe_rtprop(struct sock *sk, struct frcc *ca, const struct frcc_params *p, u32 now_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 period_us = p->rmax_us + ca->slot_max_qdelay_us;
	u32 epoch = ca->rtprop_epoch;

	if (p->probe_interval_us)
		epoch = (p->boot_clock ? cc_now_ns(sk) : cc_wall_ns(sk)) / NSEC_PER_USEC / p->probe_interval_us;
	if (ca->rtprop == FRCC_RTPROP_IDLE && epoch != ca->rtprop_epoch) {
		ca->rtprop_saved_cwnd = ca->probe == FRCC_CRUISE ? tp->snd_cwnd : ca->saved_cwnd;
		ca->rtprop_start_us = now_us;
		ca->rtprop = FRCC_RTPROP_LOW;
		tp->snd_cwnd = FRCC_MIN_CWND;
	} else if (ca->rtprop == FRCC_RTPROP_LOW) {
		tp->snd_cwnd = FRCC_MIN_CWND;
		if (now_us - ca->rtprop_start_us > period_us) {
			frcc_set_cwnd(tp, ca->rtprop_saved_cwnd);
			ca->rtprop_start_us = now_us;
			ca->rtprop = FRCC_RTPROP_WAIT;
		}
	} else if (ca->rtprop == FRCC_RTPROP_WAIT && now_us - ca->rtprop_start_us > 2 * period_us) {
		ca->probe = FRCC_CRUISE;
		frcc_start_round(sk, ca, p);
		frcc_start_slot(ca, now_us);
		ca->rtprop = FRCC_RTPROP_IDLE;
	}
	ca->rtprop_epoch = epoch;
	return ca->rtprop != FRCC_RTPROP_IDLE;
}

/* A packet per ACK event until one flow's delay and the jitter are exceeded; then half, and a round trip's rest. */
static __always_inline void frcc_slow_start(struct sock *sk, struct frcc *ca, const struct frcc_params *p, u32 now_us,
					    u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->start == FRCC_SLOW_START) {
		if (rtt_us <= ca->rtprop_us + p->theta_us + p->d_us) {
			frcc_set_cwnd(tp, (u64)tp->snd_cwnd + 1);
		} else {
			frcc_set_cwnd(tp, tp->snd_cwnd / 2);
			ca->mark_seq = tp->snd_nxt;
			ca->start = FRCC_SLOW_START_END;
		}
	} else if (!before(tp->snd_una, ca->mark_seq)) {
		ca->start = FRCC_STARTED;
		frcc_start_round(sk, ca, p);
		frcc_start_slot(ca, now_us);
	}
}

SEC("struct_ops/frcc_init")
void BPF_PROG(frcc_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct frcc *ca = inet_csk_ca(sk);
	const struct frcc_params *p = cc_params(sk);
	u32 oracle_us = cc_oracle_rtprop_us(sk);

	__builtin_memset(ca, 0, sizeof(*ca));
	ca->rtprop_us = oracle_us ? oracle_us : FRCC_NO_RTT;
	if (p->probe_interval_us)
		ca->rtprop_epoch =
			(p->boot_clock ? cc_now_ns(sk) : cc_wall_ns(sk)) / NSEC_PER_USEC / p->probe_interval_us;
	frcc_start_round(sk, ca, p);
	frcc_start_slot(ca, tp->tcp_mstamp);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_CONG_CONTROL(frcc_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct frcc *ca = inet_csk_ca(sk);
	const struct frcc_params *p = cc_params(sk);
	u32 now_us = tp->tcp_mstamp;
	u32 rtt_us;

	if (rs->rtt_us <= 0 || rs->delivered < 0 || rs->interval_us < 0)
		return;
	rtt_us = rs->rtt_us;
	frcc_update_estimates(sk, ca, p, rs);
	if (ca->rtprop == FRCC_RTPROP_IDLE)
		frcc_step_probe(sk, ca, now_us);
	if (frcc_probe_rtprop(sk, ca, p, now_us))
		return;
	if (ca->start != FRCC_STARTED) {
		frcc_slow_start(sk, ca, p, now_us, rtt_us);
		frcc_pace_loosely(sk, ca);
		return;
	}
	if (ca->probe == FRCC_DRAIN)
		frcc_drain(tp, ca, rs->acked_sacked);
	if (frcc_slot_ended(tp, ca, now_us))
		frcc_end_slot(sk, ca, p, now_us, rtt_us);
	if (ca->probe != FRCC_RAMP)
		frcc_pace_loosely(sk, ca);
}

/* FRCC does not respond to loss. */
SEC("struct_ops/frcc_ssthresh")
u32 BPF_PROG(frcc_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/frcc_undo_cwnd")
u32 BPF_PROG(frcc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops frcc = {
	.init = (void *)frcc_init,
	.ssthresh = (void *)frcc_ssthresh,
	.undo_cwnd = (void *)frcc_undo_cwnd,
	.cong_control = (void *)frcc_cong_control,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "frcc",
};

CC_LICENSE("Dual MIT/GPL");
