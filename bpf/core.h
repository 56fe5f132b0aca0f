/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The kernel as seen by a BPF CCA, without vmlinux.h: fields are relocated by name at load time (CO-RE). Requires clang
 * >= 14 and libbpf's headers; objects load on Linux 6.1 and later. Only tcp.h includes this file.
 */
#ifndef FAIRWEIR_CORE_H
#define FAIRWEIR_CORE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u16 __sum16;
typedef u32 __wsum;
#define bool _Bool
#define true 1
#define false 0

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CC_CORE __attribute__((preserve_access_index))

/* Bits of icsk_ack.pending: an ACK is delayed until a timer expires; an ACK is due with the next packet. */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

/* Bit of ecn_flags: ACKs have the ECE flag. */
#define TCP_ECN_DEMAND_CWR 4

struct sock_common {
	u32 skc_daddr; /* network order */
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network order */
	u16 skc_num;
} CC_CORE;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
} CC_CORE;

struct inet_sock {
	struct sock sk;
} CC_CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u8 icsk_retransmits;
	u32 icsk_rto; /* jiffies */
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
} CC_CORE;

struct minmax_sample {
	u32 t;
	u32 v;
} CC_CORE;

struct minmax {
	struct minmax_sample s[3];
} CC_CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 mss_cache;
	u32 snd_una;
	u32 snd_nxt;
	u32 rcv_nxt;
	u32 write_seq;
	u32 high_seq;
	u32 srtt_us;
	u32 mdev_us;
	u32 rttvar_us;
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
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
} CC_CORE;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} CC_CORE;

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
	u32 last_end_seq; /* since Linux 5.18 */
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
} CC_CORE;

/* libbpf maps these members to the kernel's members by name. */
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

/* Bit-fields have no address, so CO-RE reads them with shifts. */
static __always_inline u8 cc_ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
}

static __always_inline bool cc_is_cwnd_limited(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Minimum RTT of the connection, us. */
static __always_inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

/* Only a scenario can grant an oracle. */
static __always_inline u32 cc_oracle_rtprop_us(const struct sock *sk)
{
	return 0;
}

#ifdef CC_RECORD
#include "record.h"
#else

/* This host's monotonic clock, ns. */
static __always_inline u64 cc_now_ns(const struct sock *sk)
{
	return bpf_ktime_get_ns();
}

/* A clock that hosts share to the accuracy of NTP, ns: TAI. */
static __always_inline u64 cc_wall_ns(const struct sock *sk)
{
	return bpf_ktime_get_tai_ns();
}

static __always_inline u32 cc_rand(struct sock *sk)
{
	return bpf_get_prandom_u32();
}

/* Hook of record.h where calls are recorded. */
#define CC_CONTROL_ENTER(sk, rs)
#define CC_CONTROL_LEAVE(sk)
#define CC_NOTE_PARAMS(sk, p)

#endif

/* Since Linux 6.10 cong_control has four arguments, before it had two; the loader prunes the unused branch. */
extern int LINUX_KERNEL_VERSION __kconfig;
#define CC_KERNEL_VERSION(major, minor) (((major) << 16) + ((minor) << 8))

/* Without the empty asm the compiler merges both loads, and the verifier rejects the modified context pointer. */
#define CC_CONG_CONTROL(prog, sk, rs)                                                                                  \
	static __always_inline void prog##_body(struct sock *sk, const struct rate_sample *rs);                        \
	SEC("struct_ops/" #prog) void prog(unsigned long long *ctx)                                                    \
	{                                                                                                              \
		const struct rate_sample *sample;                                                                      \
		if (LINUX_KERNEL_VERSION >= CC_KERNEL_VERSION(6, 10)) {                                                \
			sample = (void *)ctx[3];                                                                       \
			asm volatile("" : "+r"(sample));                                                               \
		} else {                                                                                               \
			sample = (void *)ctx[1];                                                                       \
			asm volatile("" : "+r"(sample));                                                               \
		}                                                                                                      \
		struct sock *flow = (void *)ctx[0];                                                                    \
		CC_CONTROL_ENTER(flow, sample);                                                                        \
		prog##_body(flow, sample);                                                                             \
		CC_CONTROL_LEAVE(flow);                                                                                \
	}                                                                                                              \
	static __always_inline void prog##_body(struct sock *sk, const struct rate_sample *rs)

/* License required by the kernel for programs that call its GPL functions. */
#define CC_LICENSE(text) char _license[] SEC("license") = text

#define CC_SK_STORAGE 24 /* BPF_MAP_TYPE_SK_STORAGE */
#define CC_NO_PREALLOC 1 /* BPF_F_NO_PREALLOC */
#define CC_CREATE 1 /* BPF_SK_STORAGE_GET_F_CREATE */
#define CC_CLONE (1 << 9) /* BPF_F_CLONE: accepted connections inherit from their listener */

/* The defaults are data, not constants: the loader may change them at any time for all flows without parameters of
 * their own. */
#define CC_PARAMS(cc, LIST)                                                                                            \
	struct cc##_params {                                                                                           \
		LIST(CC_PARAM_FIELD)                                                                                   \
	};                                                                                                             \
	volatile struct cc##_params cc##_defaults SEC(".data") = {LIST(CC_PARAM_DEFAULT)};                             \
	struct {                                                                                                       \
		__uint(type, CC_SK_STORAGE);                                                                           \
		__uint(map_flags, CC_NO_PREALLOC | CC_CLONE);                                                          \
		__type(key, int);                                                                                      \
		__type(value, struct cc##_params);                                                                     \
	} cc##_of_flow SEC(".maps");                                                                                   \
	static __always_inline const struct cc##_params *cc_params(struct sock *sk)                                    \
	{                                                                                                              \
		const struct cc##_params *p = bpf_sk_storage_get(&cc##_of_flow, sk, 0, 0);                             \
		p = p ? p : (const struct cc##_params *)&cc##_defaults;                                                \
		CC_NOTE_PARAMS(sk, p);                                                                                 \
		return p;                                                                                              \
	}                                                                                                              \
	_Static_assert(sizeof(struct cc##_params) > 0, "no parameters")

#endif
