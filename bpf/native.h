/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The shim: the kernel's names as plain structs for the host's compiler. The simulator fills them before each hook in
 * the kernel's order and reads snd_cwnd, snd_ssthresh and sk_pacing_rate back. Layout is mirrored, and tested, in
 * crates/native/src/abi.rs. Included through tcp.h alone.
 */
#ifndef FAIRWEIR_NATIVE_H
#define FAIRWEIR_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;

#undef __always_inline
#define __always_inline inline __attribute__((always_inline, unused))
/* Sections with libbpf's names: the native interface finds a CCA's ops in `.struct_ops`. */
#define SEC(name) __attribute__((section(name), used))
#define BPF_PROG(prog, args...) prog(args)

struct sock {
	unsigned long sk_pacing_rate; /* bytes/s; all ones: not paced */
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	/* not in the kernel from here on: state behind cc_params() and the cc_*() functions */
	u32 cc_oracle_us;
	u64 cc_now;
	u64 cc_wall;
	u64 cc_rand_state;
	const u64 *cc_param_values;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state;
	u8 icsk_retransmits;
	u32 icsk_rto; /* jiffies */
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp; /* us */
	u64 tcp_clock_cache; /* ns */
	u64 tcp_wstamp_ns;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 mss_cache;
	u32 snd_una; /* bytes, wrap */
	u32 snd_nxt;
	u32 write_seq;
	u32 high_seq;
	u32 srtt_us; /* << 3 */
	u32 mdev_us; /* << 2 */
	u32 rttvar_us; /* << 2 */
	struct minmax rtt_min;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 lsndtime;
	u32 reordering;
	u8 is_cwnd_limited;
	u8 ecn_flags;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
	void *owner;
};

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline u8 cc_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

static __always_inline bool cc_is_cwnd_limited(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

/* Smallest RTT of the connection, us. */
static __always_inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

/* This host's monotonic clock, ns; each host's clock has its own origin. */
static __always_inline u64 cc_now_ns(const struct sock *sk)
{
	return sk->cc_now;
}

/* A clock that all hosts share, ns. */
static __always_inline u64 cc_wall_ns(const struct sock *sk)
{
	return sk->cc_wall;
}

/* SplitMix64's output function over a Weyl sequence, seeded by the scenario. */
static __always_inline u32 cc_rand(struct sock *sk)
{
	u64 z = sk->cc_rand_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)((z ^ (z >> 31)) >> 32);
}

/* Returns the path's true two-way propagation delay, us, if the scenario grants it; otherwise 0. */
static __always_inline u32 cc_oracle_rtprop_us(const struct sock *sk)
{
	return sk->cc_oracle_us;
}

#define CC_CONG_CONTROL(prog, sk, rs)                                                                                  \
	static __always_inline void prog##_body(struct sock *sk, const struct rate_sample *rs);                        \
	void prog(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);                                   \
	void prog(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)                                    \
	{                                                                                                              \
		(void)ack;                                                                                             \
		(void)flag;                                                                                            \
		prog##_body(sk, rs);                                                                                   \
	}                                                                                                              \
	static __always_inline void prog##_body(struct sock *sk, const struct rate_sample *rs)

/* The simulator does not need the license. */
#define CC_LICENSE(text) _Static_assert(sizeof(text) > 1, "no license")

/* A row of a parameter table; the native interface finds the table in section `cc_params`. */
struct cc_param {
	const char *name;
	const char *doc;
	u64 def;
	u64 least;
	u64 most;
	u32 unit;
};

#define CC_PARAM_ROW(field, name, unit, def, least, most, doc) {name, doc, def, least, most, unit},

#define CC_PARAMS(cc, LIST)                                                                                            \
	struct cc##_params {                                                                                           \
		LIST(CC_PARAM_FIELD)                                                                                   \
	};                                                                                                             \
	__attribute__((section("cc_params"), used)) const struct cc_param cc##_param_table[] = {LIST(CC_PARAM_ROW)};   \
	static __always_inline const struct cc##_params *cc_params(struct sock *sk)                                    \
	{                                                                                                              \
		return (const struct cc##_params *)sk->cc_param_values;                                                \
	}                                                                                                              \
	_Static_assert(sizeof(struct cc##_params) > 0, "no parameters")

#endif
