// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * cc_probe_slow: probes by a constant number of packets more than surely fit, and drains the queue between probes
 *
 * Model, T* = k R, D = d R, a = alpha packets (and loss_share of C_Ll R):
 *
 *	C_Ll = max over probes of T* without loss or RTT > R + D of sent / (T* + D)	(bytes/s)
 *	q_U  = min(inflight, max(0, q_U + sent - C_Ll dt))				(bytes)
 *
 *	START   cc_qdel, until more than 2 a are lost within R; then C_Ll = C_L T* / (T* + D), q_U = inflight
 *	PROBE   if q_U <= a: C_Ll (T* + D) + a bytes, paced over T*
 *	DRAIN   else, decided once every R: rate = C_Ll - q_U / R, at least a packet per R
 *
 * What a probe tells, when all of it is acknowledged:
 *
 *	no loss, no RTT > R + D                                C_Ll = sent / (T* + D), that is a / (T* + D) more
 *	at most 2 a lost, or RTT > R + D                       nothing: the link's rate and buffer are as believed
 *	more lost, or RTT > R + D when q_U said at most a      C_Ll / 2, q_U = inflight: the link is not as believed
 *
 * Of all links that past probes allow, C T* + buffer >= C_Ll (T* + D), none loses more than 2 a to the next: losses do
 * not grow with C, at the price of convergence linear in C (theorem 4.2.1). Proved for one flow on a CBR-delay link:
 * utilisation 30 % (T* / (T* + D) without time-outs), RTT at most 1.5 (R + D), 2 a lost in R at most; up additively,
 * down exponentially.
 *
 * Source: thesis 4.2.1, listing 4.2 (CCA4), 4.2.2.1, table 4.2, 4.2.4, B.3 to B.6; specs/formal.md sections 1.8 and 6.
 *
 * The kernel calls a CCA on ACKs alone (thesis B.5), which may be D late, so nothing is left to the next ACK that must not
 * be late: cwnd is what is in flight and what may still be sent, so that a probe ends and a drain begins in time. Sending
 * more must wait for an ACK. A drain that sends a packet per R does so by cwnd too: the time of the next packet is set
 * when a packet leaves, and at so low a pacing rate the probe would start late.
 *
 * Deviations: the next probe waits for the last one's outcome. C_Ll starts from C_L of the ACKs, which by C_L <= C
 * satisfies the inequality above for any buffer. A probe that the application could not fill tells nothing. A
 * retransmission timeout counts as a probe that lost too much. loss_share, the thesis's f(C) (4.2.2), is 0 there.
 */
#include "beliefs.h"

#define CC_PROBE_SLOW_PARAMS(P)                                                                                        \
	P(k_fp, "k", CC_FIXED, CC_FP(1), CC_FP(0.25), CC_FP(64), "length of a probe, in rtprops")                      \
	P(alpha_pkts, "alpha", CC_PKTS, 5, 1, 10000, "more than surely fits that a probe sends")                       \
	P(loss_share_fp, "loss_share", CC_FIXED, 0, 0, CC_FP(1), "... and so much of a bandwidth-delay product")       \
	P(d_fp, "d", CC_FIXED, CC_FP(1), CC_FP(0.01), CC_FP(8), "jitter that is tolerated, in rtprops")
CC_PARAMS(cc_probe_slow, CC_PROBE_SLOW_PARAMS);

enum probe_phase { PROBE_START, PROBE_PROBE, PROBE_DRAIN };

/* After the start. */
struct probing {
	u64 rate; /* C_Ll, bytes/s */
	u64 queue; /* q_U, bytes */
	u64 drain_rate; /* of this step, bytes/s */
	u32 rtprop_us;
	u32 seen_us; /* the last ACK */
	u32 seen_sent; /* packets sent until then */
	u32 step_us; /* when this step of a drain began */
	u32 probe_us; /* when the probe began */
	u32 probe_length_us; /* T* + pauses */
	u32 probe_sent; /* packets sent before it */
	u32 probe_pkts;
	u32 probe_lost; /* packets lost before it */
	u32 first_seq; /* what it sent: first ... */
	u32 last_seq; /* ... and end */
	bool is_judged; /* its outcome is known */
	bool has_qdelay; /* an RTT of it was above R + D */
	bool was_queue; /* ... its first packet's, when q_U said that there is none */
	bool is_app_limited;
};

struct cc_probe_slow {
	union {
		struct beliefs start;
		struct probing probing;
	};
	u8 phase; /* enum probe_phase */
	bool has_timed_out;
};
CC_STATE_FITS(struct cc_probe_slow);

/* Each transmission ends delivered or lost, or is in flight. */
static __always_inline u32 probe_sent_pkts(const struct tcp_sock *tp)
{
	return tp->delivered + tp->lost + tcp_packets_in_flight(tp);
}

/* a, bytes. */
static __always_inline u64 probe_allowance(u64 rate, u32 rtprop_us, const struct cc_probe_slow_params *p, u32 mss)
{
	return p->alpha_pkts * mss + (rate * rtprop_us / USEC_PER_SEC * p->loss_share_fp >> CC_FP_SHIFT);
}

static __always_inline u32 probe_interval_us(u32 rtprop_us, const struct cc_probe_slow_params *p)
{
	return max(rtprop_us * p->k_fp >> CC_FP_SHIFT, 1ULL);
}

/* Bytes of the next probe. */
static __always_inline u64 probe_bytes(const struct probing *s, const struct cc_probe_slow_params *p, u32 mss)
{
	u32 length_us = probe_interval_us(s->rtprop_us, p) + belief_jitter_us(s->rtprop_us, p->d_fp);

	return s->rate * length_us / USEC_PER_SEC + probe_allowance(s->rate, s->rtprop_us, p, mss);
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

static __always_inline void probe_start_draining(struct sock *sk, struct cc_probe_slow *ca,
						 const struct cc_probe_slow_params *p, u32 now_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtprop_us = ca->start.rtprop_us;
	u32 interval_us = probe_interval_us(rtprop_us, p);
	u32 jitter_us = belief_jitter_us(rtprop_us, p->d_fp);
	u64 rate = ca->start.c_l * interval_us / max(interval_us + jitter_us, 1U);

	ca->probing = (struct probing){
		.rate = max(rate, belief_packet_rate(2ULL * rtprop_us, tp->mss_cache)),
		.queue = (u64)tcp_packets_in_flight(tp) * tp->mss_cache,
		.rtprop_us = rtprop_us,
		.seen_us = now_us,
		.seen_sent = probe_sent_pkts(tp),
		.step_us = now_us - rtprop_us,
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
static __always_inline void probe_watch(struct probing *s, const struct cc_probe_slow_params *p,
					const struct rate_sample *rs, u32 mss)
{
	u32 end_seq = rs->last_end_seq;
	u32 bound_us = s->rtprop_us + belief_jitter_us(s->rtprop_us, p->d_fp);
	u64 allowance_us = probe_allowance(s->rate, s->rtprop_us, p, mss) * USEC_PER_SEC / max(s->rate, 1ULL);

	s->is_app_limited = s->is_app_limited || rs->is_app_limited;
	if (rs->rtt_us <= 0 || before(end_seq, s->first_seq) || after(end_seq, s->last_seq))
		return;
	s->has_qdelay = s->has_qdelay || rs->rtt_us > bound_us;
	if (!after(end_seq, s->first_seq + mss))
		s->was_queue = (u64)rs->rtt_us > bound_us + allowance_us;
}

static __always_inline void probe_judge(struct probing *s, const struct cc_probe_slow_params *p,
					const struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache;
	u64 lost = (u64)(tp->lost - s->probe_lost) * mss;
	u32 length_us = s->probe_length_us + belief_jitter_us(s->rtprop_us, p->d_fp);

	if (s->was_queue || lost > 2 * probe_allowance(s->rate, s->rtprop_us, p, mss)) {
		probe_disbelieve(s, tp);
	} else if (!lost && !s->has_qdelay && !s->is_app_limited) {
		u64 sent = (u64)s->probe_pkts * mss;

		s->rate = max(s->rate, sent * USEC_PER_SEC / max(length_us, 1U));
	}
	s->is_judged = true;
}

static __always_inline void probe_begin(struct sock *sk, struct cc_probe_slow *ca, const struct cc_probe_slow_params *p,
					u32 now_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct probing *s = &ca->probing;
	u32 mss = max(tp->mss_cache, 1U);
	u64 bytes = probe_bytes(s, p, mss);

	s->probe_us = now_us;
	s->probe_length_us = probe_interval_us(s->rtprop_us, p);
	s->probe_sent = s->seen_sent;
	s->probe_pkts = max(bytes / mss, 1ULL);
	s->probe_lost = tp->lost;
	s->first_seq = tp->snd_nxt;
	s->last_seq = tp->snd_nxt;
	s->is_judged = false;
	s->has_qdelay = false;
	s->was_queue = false;
	s->is_app_limited = false;
	ca->phase = PROBE_PROBE;
	sk->sk_pacing_rate = max(bytes * USEC_PER_SEC / s->probe_length_us, 1ULL);
	probe_set_cwnd(tp, (u64)tcp_packets_in_flight(tp) + s->probe_pkts);
}

/* The probe's end is where cwnd stops it; an ACK tells of it. */
static __always_inline void probe_go_on(struct tcp_sock *tp, struct cc_probe_slow *ca, u32 now_us)
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

static __always_inline void probe_drain(struct sock *sk, struct cc_probe_slow *ca, const struct cc_probe_slow_params *p,
					u32 now_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct probing *s = &ca->probing;
	u32 mss = max(tp->mss_cache, 1U);
	u32 rtprop_us = max(s->rtprop_us, 1U);
	u64 inflight = tcp_packets_in_flight(tp);
	u64 excess_rate = s->queue * USEC_PER_SEC / rtprop_us;
	bool is_new_step = now_us - s->step_us >= rtprop_us;

	if (s->is_judged && s->queue <= probe_allowance(s->rate, rtprop_us, p, mss)) {
		probe_begin(sk, ca, p, now_us);
		return;
	}
	if (is_new_step) {
		s->step_us = now_us;
		s->drain_rate = s->rate - min(s->rate, excess_rate);
	}
	sk->sk_pacing_rate = s->rate;
	if (s->drain_rate <= belief_packet_rate(rtprop_us, mss)) {
		probe_set_cwnd(tp, inflight + is_new_step);
		return;
	}
	sk->sk_pacing_rate = s->drain_rate;
	/* an ACK comes every R + D at least */
	probe_set_cwnd(tp, inflight + 1 + s->drain_rate * 2 * rtprop_us / USEC_PER_SEC / mss);
}

SEC("struct_ops/cc_probe_slow_init")
void BPF_PROG(cc_probe_slow_init, struct sock *sk)
{
	struct cc_probe_slow *ca = inet_csk_ca(sk);

	*ca = (struct cc_probe_slow){.start = {.c_u = BELIEF_NO_BOUND}, .phase = PROBE_START};
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

static __always_inline void probe_start(struct sock *sk, struct cc_probe_slow *ca, const struct cc_probe_slow_params *p,
					const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct beliefs *b = &ca->start;
	u32 mss = tp->mss_cache;

	if (!belief_update(sk, b, rs, p->d_fp))
		return;
	if ((u64)(tp->lost - b->lost) * mss > 2 * probe_allowance(b->c_l, b->rtprop_us, p, mss)) {
		probe_start_draining(sk, ca, p, tp->tcp_mstamp);
		probe_drain(sk, ca, p, tp->tcp_mstamp);
		return;
	}
	sk->sk_pacing_rate = belief_qdel_rate(b, mss);
	tp->snd_cwnd = min(belief_qdel_cwnd(b, p->d_fp, mss), (u64)tp->snd_cwnd_clamp);
}

CC_CONG_CONTROL(cc_probe_slow_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_probe_slow *ca = inet_csk_ca(sk);
	const struct cc_probe_slow_params *p = cc_params(sk);
	u32 now_us = tp->tcp_mstamp;
	struct probing *s = &ca->probing;

	if (ca->phase == PROBE_START) {
		probe_start(sk, ca, p, rs);
		return;
	}
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
		probe_watch(s, p, rs, tp->mss_cache);
		if (ca->phase == PROBE_DRAIN && !before(tp->snd_una, s->last_seq))
			probe_judge(s, p, tp);
	}
	if (ca->phase == PROBE_DRAIN)
		probe_drain(sk, ca, p, now_us);
}

/* A loss counts with the probe that it belongs to. */
SEC("struct_ops/cc_probe_slow_ssthresh")
u32 BPF_PROG(cc_probe_slow_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/cc_probe_slow_set_state")
void BPF_PROG(cc_probe_slow_set_state, struct sock *sk, u8 new_state)
{
	struct cc_probe_slow *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	if (ca->phase == PROBE_START)
		belief_doubt(&ca->start);
	else
		ca->has_timed_out = true;
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
