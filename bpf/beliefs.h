/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Beliefs that the ACKs of a flow imply: bounds on the link rate and on the queueing delay, under the CCAC model, in
 * which ACKs may be late by up to D in addition to propagation R and queueing (thesis 4.1.1, A.2).
 *
 *	qdel_L = max(0, RTT - R - D)
 *	C_L    = max over intervals T of acked / (T + D)
 *	C_U    = min over intervals T > D of acked / (T - D), where the link was busy throughout
 *
 * R is the minimum RTT, or the oracle's value. ACKs are counted in slots of length R. After each slot, the intervals of
 * one to ten whole slots that end with this slot are examined. A slot was busy if every RTT in it had qdel_L > 0, or if
 * it had losses.
 *
 * Links change, so beliefs expire. If C_U < C_L the beliefs are inconsistent: beliefs computed from the newest slots
 * replace them, and older slots are dropped; one such step at most halves C_L. If neither bound moves in ten slots and
 * C_U <= 2 C_L, both bounds are recomputed from these slots; C_U grows by a factor of at most 1.5.
 */
#ifndef FAIRWEIR_BELIEFS_H
#define FAIRWEIR_BELIEFS_H

#include "tcp.h"

/* Loops over a flow's state are unrolled: the verifier requires constant offsets into it. */
#ifdef __clang__
#define CC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CC_UNROLL _Pragma("GCC unroll 16")
#endif

#define BELIEF_SLOTS 10
#define BELIEF_NO_BOUND (~0ULL)
/* The slots are kept if R changes by less than an eighth. */
#define BELIEF_RTPROP_SHIFT 3

struct beliefs {
	u64 c_l; /* the link's rate is at least this, bytes/s */
	u64 c_u; /* ... and at most this */
	u32 acked[BELIEF_SLOTS]; /* packets of the last slots, the newest first */
	u32 rtprop_us; /* R; 0: no RTT yet */
	u32 slot_us;
	u32 slot_start_us;
	u32 delivered; /* at the start of this slot */
	u32 lost; /* at the start of this slot */
	u32 qdel_l_us; /* qdel_L of the newest RTT */
	u16 busy; /* a bit for each of the last slots, the newest lowest */
	u8 slots; /* number of valid slots */
	u8 quiet_slots; /* since a bound moved or timed out */
	bool is_idle; /* qdel_L was 0 in this slot */
	bool is_app_limited; /* in this period */
};

struct belief_bounds {
	u64 c_l;
	u64 c_u;
	u8 slots; /* that agree */
};

/* Returns D = d R. */
static __always_inline u32 belief_jitter_us(u32 rtprop_us, u64 d_fp)
{
	return rtprop_us * d_fp >> CC_FP_SHIFT;
}

/* Computes the beliefs from as many of the newest slots as are consistent. */
static __always_inline struct belief_bounds belief_look_back(const struct beliefs *b, u32 jitter_us, u32 mss)
{
	struct belief_bounds bounds = {.c_l = 0, .c_u = BELIEF_NO_BOUND, .slots = 0};
	bool is_busy = true;
	u32 length_us = 0;
	u64 acked = 0;

	CC_UNROLL
	for (u32 i = 0; i < BELIEF_SLOTS; i++) {
		u64 c_l, c_u = bounds.c_u;

		if (i >= b->slots)
			break;
		acked += b->acked[i];
		length_us += b->slot_us;
		is_busy = is_busy && (b->busy & (1U << i));
		c_l = max(bounds.c_l, acked * mss * USEC_PER_SEC / max(length_us + jitter_us, 1U));
		if (is_busy && length_us > jitter_us)
			c_u = min(c_u, acked * mss * USEC_PER_SEC / (length_us - jitter_us));
		if (c_l > c_u)
			break;
		bounds = (struct belief_bounds){.c_l = c_l, .c_u = c_u, .slots = i + 1};
	}
	return bounds;
}

static __always_inline void belief_time_out(struct beliefs *b, const struct belief_bounds *recent)
{
	if (!b->is_app_limited && b->c_u / 2 <= b->c_l) {
		b->c_l = max(recent->c_l, b->c_l / 2);
		b->c_u = max(min(recent->c_u, b->c_u / 2 * 3), b->c_l);
	}
	b->quiet_slots = 0;
	b->is_app_limited = false;
}

static __always_inline void belief_update_bounds(struct beliefs *b, u32 jitter_us, u32 mss)
{
	struct belief_bounds recent = belief_look_back(b, jitter_us, mss);
	u64 c_l = max(b->c_l, recent.c_l);
	u64 c_u = min(b->c_u, recent.c_u);
	bool has_moved = c_l != b->c_l || c_u != b->c_u;

	b->quiet_slots = has_moved ? 0 : b->quiet_slots + 1;
	if (c_u < c_l) {
		c_l = max(recent.c_l, b->c_l / 2);
		c_u = max(recent.c_u, c_l);
		b->slots = max(recent.slots, (u8)1);
	}
	b->c_l = c_l;
	b->c_u = c_u;
	if (b->quiet_slots >= BELIEF_SLOTS)
		belief_time_out(b, &recent);
}

static __always_inline void belief_push_slot(struct beliefs *b, u32 acked, bool is_busy)
{
	CC_UNROLL
	for (u32 i = BELIEF_SLOTS - 1; i > 0; i--)
		b->acked[i] = b->acked[i - 1];
	b->acked[0] = acked;
	b->busy = b->busy << 1 | is_busy;
	b->slots = min(b->slots + 1, BELIEF_SLOTS);
}

static __always_inline void belief_restart_slots(struct beliefs *b, const struct tcp_sock *tp, u32 now_us)
{
	b->slots = 0;
	b->slot_us = b->rtprop_us;
	b->slot_start_us = now_us;
	b->delivered = tp->delivered;
	b->lost = tp->lost;
	b->is_idle = false;
}

/* Ends the slots before this ACK; slots without ACKs have identical values. */
static __always_inline void belief_end_slots(struct beliefs *b, const struct tcp_sock *tp, const struct rate_sample *rs,
					     u32 jitter_us, u32 now_us)
{
	/* this ACK belongs to the slot that is open when it arrives */
	u32 delivered = tp->delivered - rs->acked_sacked;
	u32 ended = (now_us - b->slot_start_us) / max(b->slot_us, 1U);
	bool had_loss = tp->lost - b->lost - min((u32)rs->losses, tp->lost - b->lost) > 0;

	if (!ended)
		return;
	belief_push_slot(b, delivered - b->delivered, had_loss || (b->qdel_l_us && !b->is_idle));
	CC_UNROLL
	for (u32 i = 1; i < BELIEF_SLOTS; i++) {
		if (i < ended)
			belief_push_slot(b, 0, b->qdel_l_us > 0);
	}
	belief_update_bounds(b, jitter_us, tp->mss_cache);
	b->slot_start_us += ended * b->slot_us;
	b->delivered = delivered;
	b->lost = tp->lost - min((u32)rs->losses, tp->lost - b->lost);
	b->is_idle = false;
}

/* Processes an ACK; returns false before the first RTT. */
static __always_inline bool belief_update(struct sock *sk, struct beliefs *b, const struct rate_sample *rs, u64 d_fp)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 oracle_us = cc_oracle_rtprop_us(sk);
	u32 now_us = tp->tcp_mstamp;
	u32 rtt_us = rs->rtt_us > 0 ? rs->rtt_us : 0;
	u32 jitter_us;

	if (!b->rtprop_us) {
		if (!rtt_us)
			return false;
		/* only the window in flight is known: it is treated as acknowledged */
		b->rtprop_us = oracle_us ? oracle_us : rtt_us;
		b->c_l = (u64)tp->snd_cwnd * tp->mss_cache * USEC_PER_SEC /
			 max(b->rtprop_us + belief_jitter_us(b->rtprop_us, d_fp), 1U);
		b->c_u = BELIEF_NO_BOUND;
		belief_restart_slots(b, tp, now_us);
	}
	if (rtt_us && rtt_us < b->rtprop_us && !oracle_us) {
		b->rtprop_us = rtt_us;
		if (b->slot_us - rtt_us > b->slot_us >> BELIEF_RTPROP_SHIFT)
			belief_restart_slots(b, tp, now_us);
	}
	jitter_us = belief_jitter_us(b->rtprop_us, d_fp);
	belief_end_slots(b, tp, rs, jitter_us, now_us);
	if (rtt_us) {
		b->qdel_l_us = rtt_us - min(rtt_us, b->rtprop_us + jitter_us);
		b->is_idle = b->is_idle || !b->qdel_l_us;
	}
	b->is_app_limited = b->is_app_limited || rs->is_app_limited;
	return true;
}

/* A timeout contradicts the model: the beliefs about the link are false. */
static __always_inline void belief_doubt(struct beliefs *b)
{
	b->c_l /= 2;
}

/* Returns the rate of one packet per `us`, bytes/s. */
static __always_inline u64 belief_packet_rate(u64 us, u32 mss)
{
	return max(mss * USEC_PER_SEC / max(us, 1ULL), 1ULL);
}

/* Returns 2 C_U (R + D) in packets: the maximum inflight if ACKs stop. C_U is limited to 4 C_L. */
static __always_inline u64 belief_cwnd(const struct beliefs *b, u64 d_fp, u32 mss)
{
	u64 rate = min(b->c_u, 4 * b->c_l);
	u64 bytes = 2 * rate * (b->rtprop_us + belief_jitter_us(b->rtprop_us, d_fp)) / USEC_PER_SEC;

	return max(bytes / max(mss, 1U), 4ULL);
}

#endif
