/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Beliefs about a CBR-delay link that a flow's probes imply (thesis 4.2.2.1; jitter of at most D follows a
 * deterministic queue), and the sending at a rate that follows from them:
 *
 *	C_Ll = max over probes of T* without loss or RTT > R + D of sent / (T* + D)	(bytes/s)
 *	q_U  = min(inflight, max(0, q_U + sent - C_Ll dt))				(bytes)
 *
 *	START   cc_qdel, until losses within R are large; then C_Ll = C_L T* / (T* + D), q_U = inflight
 *	PROBE   more than C_Ll (T* + D) bytes, paced over T*
 *	DRAIN   a rate, decided once every R, a packet per R at least
 *
 * Result of a probe when all of it is acknowledged:
 *
 *	no loss, no RTT > R + D                            C_Ll = sent / (T* + D)
 *	as much lost as beliefs allow, or RTT > R + D      nothing: the link's rate and buffer are as believed
 *	more lost, or RTT > R + D when q_U said that the   C_Ll / 2, q_U = inflight: the link is not as believed
 *	queue was shorter
 *
 * The kernel calls a CCA only on ACKs (thesis B.5), which may be D late, so nothing time-critical depends on the next
 * ACK: cwnd is inflight plus what may still be sent, so that a probe ends and a drain begins in time. Sending more must
 * wait for an ACK. A drain that sends a packet per R is limited by cwnd too: the time of the next packet is set when a
 * packet leaves, and at so low a pacing rate the probe would start late.
 */
#ifndef FAIRWEIR_PROBES_H
#define FAIRWEIR_PROBES_H

#include "beliefs.h"
#include "cc_qdel_rate.h"

enum probe_phase { PROBE_START, PROBE_PROBE, PROBE_DRAIN };

/* State after START. */
struct probing {
	u64 rate; /* C_Ll, bytes/s */
	u64 queue; /* q_U, bytes */
	u64 drain_rate; /* of this step, bytes/s */
	u64 queue_bound; /* when the probe began, bytes */
	u64 loss_bound; /* bound on the loss of a probe if beliefs are true, bytes */
	u32 rtprop_us;
	u32 seen_us; /* the last ACK */
	u32 seen_sent; /* packets sent until then */
	u32 step_us; /* when this step of a drain began */
	u32 probe_us; /* when the probe began */
	u32 probe_length_us; /* T* + pauses */
	u32 probe_sent; /* packets sent before it */
	u32 probe_pkts;
	u32 probe_lost; /* packets lost before it */
	u32 first_seq; /* packets sent by the probe: first ... */
	u32 last_seq; /* ... and end */
	bool is_judged; /* its outcome is known */
	bool has_qdelay; /* an RTT of it was above R + D */
	bool was_queue; /* ... the first packet's, when q_U implied no queue */
	bool is_app_limited;
};

struct prober {
	union {
		struct beliefs start;
		struct probing probing;
	};
	u8 phase; /* enum probe_phase */
	bool has_timed_out;
};
CC_STATE_FITS(struct prober);

/* T* and D, in rtprops. */
struct probe_lengths {
	u64 k_fp;
	u64 d_fp;
};

/* An algorithm's decision from its beliefs. */
struct probe_choice {
	u64 bytes; /* of the next probe; 0: none */
	u64 queue_bound; /* at its start, bytes */
	u64 loss_bound; /* bound on its loss if beliefs are true, bytes */
	u64 rate; /* else, until the next step, bytes/s */
};

/* Each transmission ends delivered or lost, or is in flight. */
static __always_inline u32 probe_sent_pkts(const struct tcp_sock *tp)
{
	return tp->delivered + tp->lost + tcp_packets_in_flight(tp);
}

/* T*. */
static __always_inline u32 probe_interval_us(u32 rtprop_us, struct probe_lengths lengths)
{
	return max(rtprop_us * lengths.k_fp >> CC_FP_SHIFT, 1ULL);
}

/* C_Ll (T* + D): the bytes that certainly fit. */
static __always_inline u64 probe_sure_bytes(const struct probing *s, struct probe_lengths lengths)
{
	u32 length_us = probe_interval_us(s->rtprop_us, lengths) + belief_jitter_us(s->rtprop_us, lengths.d_fp);

	return s->rate * length_us / USEC_PER_SEC;
}

static __always_inline void probe_set_cwnd(struct tcp_sock *tp, u64 cwnd)
{
	tp->snd_cwnd = clamp(cwnd, 1ULL, (u64)tp->snd_cwnd_clamp);
}

static __always_inline void probe_disbelieve(struct probing *s, const struct tcp_sock *tp)
{
	s->rate = max(s->rate / 2, belief_packet_rate(2ULL * s->rtprop_us, tp->mss_cache));
	s->queue = (u64)tcp_packets_in_flight(tp) * tp->mss_cache;
	s->is_judged = true;
}

static __always_inline void probe_start_draining(struct prober *ca, const struct tcp_sock *tp,
						 struct probe_lengths lengths)
{
	u32 rtprop_us = ca->start.rtprop_us;
	u32 interval_us = probe_interval_us(rtprop_us, lengths);
	u32 jitter_us = belief_jitter_us(rtprop_us, lengths.d_fp);
	u64 rate = ca->start.c_l * interval_us / max(interval_us + jitter_us, 1U);

	ca->probing = (struct probing){
		.rate = max(rate, belief_packet_rate(2ULL * rtprop_us, tp->mss_cache)),
		.queue = (u64)tcp_packets_in_flight(tp) * tp->mss_cache,
		.rtprop_us = rtprop_us,
		.seen_us = tp->tcp_mstamp,
		.seen_sent = probe_sent_pkts(tp),
		.step_us = tp->tcp_mstamp - rtprop_us,
		.is_judged = true,
	};
	ca->phase = PROBE_DRAIN;
}

static __always_inline void probe_update_queue(struct probing *s, const struct tcp_sock *tp, u32 now_us)
{
	u32 sent = probe_sent_pkts(tp);
	u64 queue = s->queue + (u64)max((s32)(sent - s->seen_sent), 0) * tp->mss_cache;
	u64 drained = s->rate * (now_us - s->seen_us) / USEC_PER_SEC;

	s->queue = min(queue - min(queue, drained), (u64)tcp_packets_in_flight(tp) * tp->mss_cache);
	s->seen_us = now_us;
	s->seen_sent = sent;
}

/* The probe's packets and their RTTs. */
static __always_inline void probe_watch(struct probing *s, struct probe_lengths lengths, const struct rate_sample *rs,
					u32 mss)
{
	u32 end_seq = rs->last_end_seq;
	u32 bound_us = s->rtprop_us + belief_jitter_us(s->rtprop_us, lengths.d_fp);
	u64 queue_us = s->queue_bound * USEC_PER_SEC / max(s->rate, 1ULL);

	s->is_app_limited = s->is_app_limited || rs->is_app_limited;
	if (rs->rtt_us <= 0 || before(end_seq, s->first_seq) || after(end_seq, s->last_seq))
		return;
	s->has_qdelay = s->has_qdelay || rs->rtt_us > bound_us;
	if (!after(end_seq, s->first_seq + mss))
		s->was_queue = (u64)rs->rtt_us > bound_us + queue_us;
}

static __always_inline void probe_judge(struct probing *s, struct probe_lengths lengths, const struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache;
	u64 lost = (u64)(tp->lost - s->probe_lost) * mss;
	u32 length_us = s->probe_length_us + belief_jitter_us(s->rtprop_us, lengths.d_fp);

	if (s->was_queue || lost > s->loss_bound) {
		probe_disbelieve(s, tp);
	} else if (!lost && !s->has_qdelay && !s->is_app_limited) {
		u64 sent = (u64)s->probe_pkts * mss;

		s->rate = max(s->rate, sent * USEC_PER_SEC / max(length_us, 1U));
	}
	s->is_judged = true;
}

static __always_inline void probe_begin(struct sock *sk, struct prober *ca, struct probe_lengths lengths,
					const struct probe_choice *choice)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct probing *s = &ca->probing;

	s->probe_us = tp->tcp_mstamp;
	s->probe_length_us = probe_interval_us(s->rtprop_us, lengths);
	s->probe_sent = s->seen_sent;
	s->probe_pkts = max(choice->bytes / max(tp->mss_cache, 1U), 1ULL);
	s->probe_lost = tp->lost;
	s->queue_bound = choice->queue_bound;
	s->loss_bound = choice->loss_bound;
	s->first_seq = tp->snd_nxt;
	s->last_seq = tp->snd_nxt;
	s->is_judged = false;
	s->has_qdelay = false;
	s->was_queue = false;
	s->is_app_limited = false;
	ca->phase = PROBE_PROBE;
	sk->sk_pacing_rate = max(choice->bytes * USEC_PER_SEC / s->probe_length_us, 1ULL);
	probe_set_cwnd(tp, (u64)tcp_packets_in_flight(tp) + s->probe_pkts);
}

/* The probe ends where cwnd stops it; an ACK shows that. */
static __always_inline void probe_go_on(struct tcp_sock *tp, struct prober *ca, u32 now_us)
{
	struct probing *s = &ca->probing;
	u32 sent = s->seen_sent - s->probe_sent;

	s->last_seq = tp->snd_nxt;
	if (sent >= s->probe_pkts) {
		ca->phase = PROBE_DRAIN;
		s->step_us = now_us - s->rtprop_us; /* decide at once */
		return;
	}
	s->probe_length_us = max(s->probe_length_us, now_us - s->probe_us);
	probe_set_cwnd(tp, (u64)tcp_packets_in_flight(tp) + s->probe_pkts - sent);
}

static __always_inline void probe_drain(struct sock *sk, struct probing *s, u64 rate)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 mss = max(tp->mss_cache, 1U);
	u32 rtprop_us = max(s->rtprop_us, 1U);
	u32 now_us = tp->tcp_mstamp;
	u64 inflight = tcp_packets_in_flight(tp);
	bool is_new_step = now_us - s->step_us >= rtprop_us;

	if (is_new_step) {
		s->step_us = now_us;
		s->drain_rate = rate;
	}
	sk->sk_pacing_rate = s->rate;
	if (s->drain_rate <= belief_packet_rate(rtprop_us, mss)) {
		probe_set_cwnd(tp, inflight + is_new_step);
		return;
	}
	sk->sk_pacing_rate = s->drain_rate;
	/* an ACK comes at least every R + D */
	probe_set_cwnd(tp, inflight + 1 + s->drain_rate * 2 * rtprop_us / USEC_PER_SEC / mss);
}

/* Takes the next decision after each ACK. The next probe waits for the last one's outcome. */
static __always_inline void probe_act(struct sock *sk, struct prober *ca, struct probe_lengths lengths,
				      struct probe_choice choice)
{
	if (choice.bytes && ca->probing.is_judged)
		probe_begin(sk, ca, lengths, &choice);
	else
		probe_drain(sk, &ca->probing, choice.rate);
}

static __always_inline void probe_init(struct sock *sk)
{
	struct prober *ca = inet_csk_ca(sk);

	*ca = (struct prober){.start = {.c_u = BELIEF_NO_BOUND}, .phase = PROBE_START};
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* In the start, after belief_update(): cc_qdel until more than `loss_bound` bytes are lost in R. Is there a choice? */
static __always_inline bool probe_start(struct sock *sk, struct prober *ca, struct probe_lengths lengths, u64 loss_bound)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 mss = tp->mss_cache;

	if ((u64)(tp->lost - ca->start.lost) * mss > loss_bound) {
		probe_start_draining(ca, tp, lengths);
		return true;
	}
	sk->sk_pacing_rate = cc_qdel_rate(&ca->start, mss);
	tp->snd_cwnd = min(belief_cwnd(&ca->start, lengths.d_fp, mss), (u64)tp->snd_cwnd_clamp);
	return false;
}

/* After the start: takes an ACK in. Is there a choice? */
static __always_inline bool probe_update(struct sock *sk, struct prober *ca, struct probe_lengths lengths,
					 const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct probing *s = &ca->probing;
	u32 now_us = tp->tcp_mstamp;

	if (!cc_oracle_rtprop_us(sk) && rs->rtt_us > 0)
		s->rtprop_us = min(s->rtprop_us, (u32)rs->rtt_us);
	probe_update_queue(s, tp, now_us);
	if (ca->has_timed_out) {
		ca->has_timed_out = false;
		probe_disbelieve(s, tp);
		ca->phase = PROBE_DRAIN;
	}
	if (ca->phase == PROBE_PROBE)
		probe_go_on(tp, ca, now_us);
	if (!s->is_judged) {
		probe_watch(s, lengths, rs, tp->mss_cache);
		if (ca->phase == PROBE_DRAIN && !before(tp->snd_una, s->last_seq))
			probe_judge(s, lengths, tp);
	}
	return ca->phase == PROBE_DRAIN;
}

/* A retransmission timeout: missing ACKs are not in the model. */
static __always_inline void probe_doubt(struct prober *ca)
{
	if (ca->phase == PROBE_START)
		belief_doubt(&ca->start);
	else
		ca->has_timed_out = true;
}

#endif
