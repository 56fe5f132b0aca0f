/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Interface available to a CCA in kernel C, in the kernel and in the simulator.
 *
 * With `clang -target bpf` this is a small hand-written CO-RE view of the kernel: only the fields that CCAs use, in any
 * order; the loader relocates them against the running kernel's BTF. With the host's compiler it is native.h: the same
 * names as plain structs that the simulator fills. The code shared by both follows below.
 *
 * Rules: integers only, no signed division, no division by zero (the kernel returns 0, a host CPU traps), state of one
 * flow in one struct of at most 104 bytes at inet_csk_ca(sk), no mutable globals, bounded loops.
 */
#ifndef FAIRWEIR_TCP_H
#define FAIRWEIR_TCP_H

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

enum sk_pacing {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
	SK_PACING_FQ = 2,
};

#ifdef __bpf__
#include "core.h"
#else
#include "native.h"
#endif

/* Size of a flow's private state: sizeof(icsk_ca_priv), 13 words since Linux 5.7. */
#define CC_STATE_BYTES 104
#define CC_STATE_FITS(type) _Static_assert(sizeof(type) <= CC_STATE_BYTES, "state of a flow exceeds 104 bytes")

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CONG_NON_RESTRICTED 1 /* any user may choose it; needed to make it a network namespace's default */
#define TCP_CONG_NEEDS_ECN 2

#define USEC_PER_MSEC 1000ULL
#define USEC_PER_SEC 1000000ULL
#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_SEC 1000000000ULL

#ifndef min
#define min(a, b)                                                                                                      \
	({                                                                                                             \
		__typeof__(a) min_a_ = (a);                                                                            \
		__typeof__(b) min_b_ = (b);                                                                            \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                                     \
	})
#endif
#ifndef max
#define max(a, b)                                                                                                      \
	({                                                                                                             \
		__typeof__(a) max_a_ = (a);                                                                            \
		__typeof__(b) max_b_ = (b);                                                                            \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                                     \
	})
#endif
#ifndef clamp
#define clamp(v, lo, hi) min(max(v, lo), hi)
#endif

/*
 * Parameters of a flow. A CCA lists them once:
 *
 *	#define FOO_PARAMS(P)                                                     \
 *		P(theta_us, "theta", CC_US, 10000, 100, 1000000, "delay per flow")
 *	CC_PARAMS(foo, FOO_PARAMS);
 *
 * that is: field, the name users see, unit, default, least, most, one line of documentation; and reads them in any hook
 * with `const struct foo_params *p = cc_params(sk)`. All are u64. In the simulator they come from the scenario; in the
 * kernel from socket storage that the loader fills by the socket's descriptor, or else they are the defaults, which the
 * loader may change before loading.
 */
enum cc_unit {
	CC_NUMBER, /* a whole number */
	CC_FIXED, /* a number with fraction, in units of 1 / CC_FP_ONE */
	CC_FLAG, /* 0 or 1 */
	CC_US, /* time, us */
	CC_PKTS, /* packets */
	CC_RATE, /* bytes per second */
};

#define CC_FP_SHIFT 16
#define CC_FP_ONE (1ULL << CC_FP_SHIFT)
/* A constant as CC_FIXED; the compiler evaluates the floating-point expression. */
#define CC_FP(x) ((u64)((x)*65536.0 + 0.5))

#define CC_PARAM_FIELD(field, name, unit, def, least, most, doc) u64 field;
#define CC_PARAM_DEFAULT(field, name, unit, def, least, most, doc) .field = (def),

/* Returns whether sequence number `a` is before `b`, modulo 2^32. */
static __always_inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
#define after(a, b) before(b, a)

static __always_inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

static __always_inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* An unused window does not grow (RFC 7661); slow start may still double inflight. */
static __always_inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	if (cc_is_cwnd_limited(tp))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Grows cwnd by one packet per packet acknowledged, up to ssthresh; returns the number of packets that remain. */
static __always_inline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

/* Grows cwnd by one packet per `w` packets acknowledged. */
static __always_inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	if (w == 0)
		w = 1;
	/* credit earned at a larger w counts for at most one packet */
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		u32 delta = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= delta * w;
		tp->snd_cwnd += delta;
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

static __always_inline u32 tcp_reno_reduced(u32 cwnd)
{
	return max(cwnd >> 1U, 2U);
}

static __always_inline u32 tcp_reno_ssthresh(struct sock *sk)
{
	return tcp_reno_reduced(tcp_sk(sk)->snd_cwnd);
}

static __always_inline void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

static __always_inline u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd, tp->prior_cwnd);
}

/*
 * Whether snd_ssthresh must be ssthresh() of `prior_cwnd`, the window at the last episode's start. A kernel may skip a
 * BPF program, and then returns the previous content of the stack (docs/kernel-world.md). It skips all
 * programs of that ACK, so set_state() and the following ACKs repeat the calculation of ssthresh(). The kernel sets
 * both fields before the state, and neither again before the episode ends; in Loss without a prior_ssthresh the path's
 * MTU has shrunk, and ssthresh() was not called. Outside of episodes a skipped call is only detected by an impossible
 * ssthresh.
 */
static __always_inline bool cc_ssthresh_is_of_prior_cwnd(const struct tcp_sock *tp, u8 state)
{
	if (tp->snd_ssthresh > TCP_INFINITE_SSTHRESH)
		return true;
	if (state == TCP_CA_Loss)
		return tp->prior_ssthresh != 0;
	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

#ifdef __bpf__
u64 cc_calls_skipped; /* a run in which the kernel skipped a call is not judged */
#endif

/* Sets the ssthresh that ssthresh() returns if the kernel did not skip it. */
static __always_inline void cc_keep_ssthresh(struct tcp_sock *tp, u32 ssthresh)
{
	if (tp->snd_ssthresh == ssthresh)
		return;
#ifdef __bpf__
	__sync_fetch_and_add(&cc_calls_skipped, 1);
#endif
	tp->snd_ssthresh = ssthresh;
}

/* Returns the ssthresh to use when slow start begins again. */
static __always_inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	u8 state = cc_ca_state(sk);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

#endif
