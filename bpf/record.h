/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Records of a CCA's hooks in the kernel: what each call read, its arguments, its decisions. With CC_RECORD defined,
 * core.h's BPF_PROG, CC_CONG_CONTROL and cc_*() functions write them to a ring buffer, without the algorithm's source
 * knowing; the native build of the same source replays them (crates/native/src/replay.rs).
 *
 * While recording, the clocks stand still during a hook, and its random numbers come from a state seeded by the
 * kernel's generator, so that the call is a function of its record.
 */
#ifndef FAIRWEIR_RECORD_H
#define FAIRWEIR_RECORD_H

/* Members of tcp_congestion_ops, and the other kinds of a record. */
enum cc_record_kind {
	CC_RECORD_SSTHRESH = 1,
	CC_RECORD_CONG_AVOID,
	CC_RECORD_SET_STATE,
	CC_RECORD_CWND_EVENT,
	CC_RECORD_IN_ACK_EVENT,
	CC_RECORD_PKTS_ACKED,
	CC_RECORD_MIN_TSO_SEGS,
	CC_RECORD_CONG_CONTROL,
	CC_RECORD_UNDO_CWND,
	CC_RECORD_SNDBUF_EXPAND,
	CC_RECORD_INIT,
	CC_RECORD_RELEASE,
	CC_RECORD_PARAMS, /* a flow's parameters, before the first hook that reads them and when they change */
};

#define CC_RECORD_MAX_PARAMS 64
#define CC_RECORD_PRIV_WORDS 13

struct cc_record_head {
	u32 kind; /* enum cc_record_kind */
	u32 flow; /* from 1, by first record */
	u64 seq; /* of the flow's records, from 0: gaps are records that were lost */
};

/* struct ack_sample or struct rate_sample; the fields are those of rate_sample. */
struct cc_record_sample {
	u64 prior_mstamp;
	s64 interval_us;
	s64 rtt_us;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	s32 losses;
	u32 acked_sacked; /* or pkts_acked */
	u32 prior_in_flight; /* or in_flight */
	u32 last_end_seq;
	u32 is_app_limited;
	u32 is_retrans;
	u32 is_ack_delayed;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	u32 pad;
};

/* Fields that a hook may modify. */
struct cc_record_decision {
	u64 sk_pacing_rate;
	u32 sk_pacing_status;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u32 app_limited;
	u64 icsk_ca_priv[CC_RECORD_PRIV_WORDS];
};

/* Other fields that a hook may read. */
struct cc_record_socket {
	u64 sk_max_pacing_rate;
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u32 icsk_ca_state;
	u32 icsk_retransmits;
	u32 icsk_rto;
	u32 ecn_flags;
	u32 is_cwnd_limited;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 mss_cache;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 high_seq;
	u32 srtt_us;
	u32 mdev_us;
	u32 rttvar_us;
	u32 rtt_min[6];
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 lsndtime;
	u32 reordering;
};

struct cc_record {
	struct cc_record_head head;
	u32 local_ip4; /* network order; 0 for IPv6 */
	u32 remote_ip4;
	u32 local_port;
	u32 remote_port;
	u64 now_ns; /* cc_now_ns() in this hook */
	u64 wall_ns;
	u64 rand_state; /* of cc_rand(), at the start */
	u64 returned;
	u32 args[2]; /* of hooks with numeric arguments */
	struct cc_record_sample sample;
	struct cc_record_socket socket;
	struct cc_record_decision before;
	struct cc_record_decision after;
};

struct cc_record_params {
	struct cc_record_head head;
	u64 words;
	u64 values[CC_RECORD_MAX_PARAMS];
};

#ifdef __bpf__

#define CC_RING_BUFFER 27 /* BPF_MAP_TYPE_RINGBUF */
#define CC_NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP: the reader polls */
#define CC_STORAGE_CREATE 1 /* BPF_SK_STORAGE_GET_F_CREATE */

/* A flow's record in progress. A socket is locked in its hooks, so nothing else writes here; one per CPU would not
 * suffice, since another flow's hook may interrupt one in process context. */
struct cc_recorder {
	struct cc_record record;
	struct cc_record_params params;
	u64 next_seq;
	u64 rand_state;
};

struct {
	__uint(type, 24 /* BPF_MAP_TYPE_SK_STORAGE */);
	__uint(map_flags, 1 /* BPF_F_NO_PREALLOC */);
	__type(key, int);
	__type(value, struct cc_recorder);
} cc_recorders SEC(".maps");

struct {
	__uint(type, CC_RING_BUFFER);
	__uint(max_entries, 1 << 24);
} cc_records SEC(".maps");

u64 cc_records_lost; /* the ring was full, or there was no memory for a flow */
u32 cc_record_flows;

static __always_inline struct cc_recorder *cc_recorder_of(const struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&cc_recorders, (struct sock *)sk, 0, flags);
}

static __always_inline u64 cc_now_ns(const struct sock *sk)
{
	struct cc_recorder *r = cc_recorder_of(sk, 0);

	return r ? r->record.now_ns : bpf_ktime_get_ns();
}

static __always_inline u64 cc_wall_ns(const struct sock *sk)
{
	struct cc_recorder *r = cc_recorder_of(sk, 0);

	return r ? r->record.wall_ns : bpf_ktime_get_tai_ns();
}

/* SplitMix64, as in native.h. */
static __always_inline u32 cc_rand(struct sock *sk)
{
	struct cc_recorder *r = cc_recorder_of(sk, 0);
	u64 z;

	if (!r)
		return bpf_get_prandom_u32();
	z = r->rand_state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)((z ^ (z >> 31)) >> 32);
}

static __always_inline void cc_record_send(struct cc_recorder *r, void *record, u64 bytes)
{
	if (bpf_ringbuf_output(&cc_records, record, bytes, CC_NO_WAKEUP))
		__sync_fetch_and_add(&cc_records_lost, 1);
	r->next_seq++;
}

static __always_inline void cc_record_decision(struct cc_record_decision *d, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	d->sk_pacing_rate = sk->sk_pacing_rate;
	d->sk_pacing_status = sk->sk_pacing_status;
	d->snd_cwnd = tp->snd_cwnd;
	d->snd_cwnd_cnt = tp->snd_cwnd_cnt;
	d->snd_cwnd_stamp = tp->snd_cwnd_stamp;
	d->snd_ssthresh = tp->snd_ssthresh;
	d->app_limited = tp->app_limited;
	for (int i = 0; i < CC_RECORD_PRIV_WORDS; i++)
		d->icsk_ca_priv[i] = inet_csk(sk)->icsk_ca_priv[i];
}

static __always_inline void cc_record_socket(struct cc_record_socket *s, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	s->sk_max_pacing_rate = sk->sk_max_pacing_rate;
	s->tcp_mstamp = tp->tcp_mstamp;
	s->tcp_clock_cache = tp->tcp_clock_cache;
	s->tcp_wstamp_ns = tp->tcp_wstamp_ns;
	s->icsk_ca_state = cc_ca_state(sk);
	s->icsk_retransmits = inet_csk(sk)->icsk_retransmits;
	s->icsk_rto = inet_csk(sk)->icsk_rto;
	s->ecn_flags = tp->ecn_flags;
	s->is_cwnd_limited = cc_is_cwnd_limited(tp);
	s->snd_cwnd_clamp = tp->snd_cwnd_clamp;
	s->prior_cwnd = tp->prior_cwnd;
	s->prior_ssthresh = tp->prior_ssthresh;
	s->mss_cache = tp->mss_cache;
	s->snd_una = tp->snd_una;
	s->snd_nxt = tp->snd_nxt;
	s->write_seq = tp->write_seq;
	s->high_seq = tp->high_seq;
	s->srtt_us = tp->srtt_us;
	s->mdev_us = tp->mdev_us;
	s->rttvar_us = tp->rttvar_us;
	for (int i = 0; i < 3; i++) {
		s->rtt_min[2 * i] = tp->rtt_min.s[i].t;
		s->rtt_min[2 * i + 1] = tp->rtt_min.s[i].v;
	}
	s->packets_out = tp->packets_out;
	s->sacked_out = tp->sacked_out;
	s->lost_out = tp->lost_out;
	s->retrans_out = tp->retrans_out;
	s->max_packets_out = tp->max_packets_out;
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
	s->lost = tp->lost;
	s->lsndtime = tp->lsndtime;
	s->reordering = tp->reordering;
}

static __always_inline void cc_record_rate_sample(struct cc_record_sample *s, const struct rate_sample *rs)
{
	s->prior_mstamp = rs->prior_mstamp;
	s->interval_us = rs->interval_us;
	s->snd_interval_us = rs->snd_interval_us;
	s->rcv_interval_us = rs->rcv_interval_us;
	s->rtt_us = rs->rtt_us;
	s->prior_delivered = rs->prior_delivered;
	s->prior_delivered_ce = rs->prior_delivered_ce;
	s->delivered = rs->delivered;
	s->delivered_ce = rs->delivered_ce;
	s->losses = rs->losses;
	s->acked_sacked = rs->acked_sacked;
	s->prior_in_flight = rs->prior_in_flight;
	s->last_end_seq = rs->last_end_seq;
	s->is_app_limited = rs->is_app_limited;
	s->is_retrans = rs->is_retrans;
	s->is_ack_delayed = rs->is_ack_delayed;
}

static __always_inline void cc_record_ack_sample(struct cc_record_sample *s, const struct ack_sample *sample)
{
	s->acked_sacked = sample->pkts_acked;
	s->rtt_us = sample->rtt_us;
	s->prior_in_flight = sample->in_flight;
}

/* Before a hook: the flow's recorder, with all but the sample and the arguments filled in. */
static __always_inline struct cc_recorder *cc_record_enter(struct sock *sk, u32 kind)
{
	struct cc_recorder *r = cc_recorder_of(sk, CC_STORAGE_CREATE);

	if (!r) {
		__sync_fetch_and_add(&cc_records_lost, 1);
		return r;
	}
	if (!r->record.head.flow) {
		r->record.head.flow = 1 + __sync_fetch_and_add(&cc_record_flows, 1);
		r->params.head.flow = r->record.head.flow;
		r->params.head.kind = CC_RECORD_PARAMS;
	}
	r->record.head.kind = kind;
	r->record.local_ip4 = sk->__sk_common.skc_rcv_saddr;
	r->record.remote_ip4 = sk->__sk_common.skc_daddr;
	r->record.local_port = sk->__sk_common.skc_num;
	r->record.remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	r->record.now_ns = bpf_ktime_get_ns();
	r->record.wall_ns = bpf_ktime_get_tai_ns();
	r->rand_state = (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	r->record.rand_state = r->rand_state;
	cc_record_socket(&r->record.socket, sk);
	cc_record_decision(&r->record.before, sk);
	return r;
}

/* `count` is a constant, the socket among them: a hook's context may not be read beyond. */
static __always_inline void cc_record_args(struct cc_recorder *r, unsigned long long *ctx, u32 kind, u32 count)
{
	if (!r)
		return;
	if (kind == CC_RECORD_PKTS_ACKED) {
		cc_record_ack_sample(&r->record.sample, (void *)ctx[count > 1 ? 1 : 0]);
		return;
	}
	r->record.args[0] = count > 1 ? ctx[1] : 0;
	r->record.args[1] = count > 2 ? ctx[2] : 0;
}

static __always_inline void cc_record_leave(struct cc_recorder *r, struct sock *sk, u64 returned)
{
	if (!r)
		return;
	r->record.returned = returned;
	cc_record_decision(&r->record.after, sk);
	r->record.head.seq = r->next_seq;
	cc_record_send(r, &r->record, sizeof(r->record));
}

/* Records the flow's parameters, if they differ from those of its last record. */
static __always_inline void cc_record_params(struct sock *sk, const volatile u64 *values, u32 words)
{
	struct cc_recorder *r = cc_recorder_of(sk, 0);
	u64 changed = 0;

	if (!r)
		return;
	for (u32 i = 0; i < words; i++) {
		u64 value = values[i];

		changed |= value ^ r->params.values[i];
		r->params.values[i] = value;
	}
	if (!changed && r->params.words)
		return;
	r->params.words = words;
	r->params.head.seq = r->next_seq;
	cc_record_send(r, &r->params, sizeof(r->params));
}

#define CC_NOTE_PARAMS(sk, p)                                                                                          \
	_Static_assert(sizeof(*(p)) <= 8 * CC_RECORD_MAX_PARAMS, "more parameters than a record holds");               \
	cc_record_params(sk, (const volatile u64 *)(p), sizeof(*(p)) / 8)

#define CC_CONTROL_ENTER(sk, rs)                                                                                       \
	struct cc_recorder *recorder = cc_record_enter(sk, CC_RECORD_CONG_CONTROL);                                    \
	if (recorder)                                                                                                  \
	cc_record_rate_sample(&recorder->record.sample, rs)
#define CC_CONTROL_LEAVE(sk) cc_record_leave(recorder, sk, 0)

/* Only the loader knows which hook a program is for: it sets cc_kind_<prog>, and the verifier prunes the other
 * branches. Both sides of __builtin_choose_expr are checked, one is taken: void has no value to keep. */
#pragma GCC diagnostic ignored "-Wint-conversion" /* as libbpf's BPF_PROG: words of the context are cast to void * */
#define CC_IS_VOID(prog) __builtin_types_compatible_p(typeof(prog(0)), void)
#undef BPF_PROG
#define BPF_PROG(prog, args...)                                                                                        \
	prog(unsigned long long *ctx);                                                                                 \
	const volatile u32 cc_kind_##prog = 0;                                                                         \
	static __always_inline typeof(prog(0)) ____##prog(unsigned long long *ctx, ##args);                            \
	typeof(prog(0)) prog(unsigned long long *ctx)                                                                  \
	{                                                                                                              \
		struct sock *flow = (void *)ctx[0];                                                                    \
		u32 kind = cc_kind_##prog;                                                                             \
		struct cc_recorder *recorder = cc_record_enter(flow, kind);                                            \
		cc_record_args(recorder, ctx, kind, ___bpf_narg(args));                                                \
		u32 returned = __builtin_choose_expr(CC_IS_VOID(prog), (____##prog(___bpf_ctx_cast(args)), 0U),        \
						     ____##prog(___bpf_ctx_cast(args)));                               \
		cc_record_leave(recorder, flow, returned);                                                             \
		return __builtin_choose_expr(CC_IS_VOID(prog), (void)0, returned);                                     \
	}                                                                                                              \
	static __always_inline typeof(prog(0)) ____##prog(unsigned long long *ctx, ##args)

#endif
#endif
