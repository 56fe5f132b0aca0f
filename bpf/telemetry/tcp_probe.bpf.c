// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * A sample of a TCP flow's state at each segment that arrives for it, mainly ACKs, with any congestion control:
 * the kernel's tracepoint tcp_probe, to a ring buffer. The state is that before the segment is processed.
 */
#include "tcp.h"

struct ns_common {
	u32 inum;
} CC_CORE;

struct net {
	struct ns_common ns;
} CC_CORE;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common___probed {
	possible_net_t skc_net;
} CC_CORE;

struct probe_sample {
	u64 time_ns; /* monotonic */
	u64 pacing_rate; /* bytes/s */
	u32 local_ip4; /* network order */
	u32 remote_ip4;
	u32 local_port;
	u32 remote_port;
	u32 cwnd; /* packets */
	u32 ssthresh;
	u32 inflight; /* packets */
	u32 srtt_us;
	u32 min_rtt_us;
	u32 mss; /* bytes */
	u32 delivered; /* packets, since the start */
	u32 lost;
	u32 snd_una; /* bytes, wrap */
	u32 ca_state;
};

/* Set before loading; 0: any. */
const volatile u32 probe_netns = 0; /* inode number */
const volatile u32 probe_remote_port = 0;
const volatile u32 probe_local_port = 0;

u64 probe_samples_lost;

struct {
	__uint(type, 27 /* BPF_MAP_TYPE_RINGBUF */);
	__uint(max_entries, 1 << 22);
} probe_samples SEC(".maps");

SEC("tp_btf/tcp_probe")
int probe(unsigned long long *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct sock_common___probed *common = (void *)sk;
	struct tcp_sock *tp = (void *)bpf_skc_to_tcp_sock(sk);
	struct probe_sample *s;

	if (!tp)
		return 0;
	if (probe_netns && BPF_CORE_READ(common, skc_net.net, ns.inum) != probe_netns)
		return 0;
	if (probe_remote_port && __builtin_bswap16(sk->__sk_common.skc_dport) != probe_remote_port)
		return 0;
	if (probe_local_port && sk->__sk_common.skc_num != probe_local_port)
		return 0;
	s = bpf_ringbuf_reserve(&probe_samples, sizeof(*s), 0);
	if (!s) {
		__sync_fetch_and_add(&probe_samples_lost, 1);
		return 0;
	}
	s->time_ns = bpf_ktime_get_ns();
	s->pacing_rate = sk->sk_pacing_rate;
	s->local_ip4 = sk->__sk_common.skc_rcv_saddr;
	s->remote_ip4 = sk->__sk_common.skc_daddr;
	s->local_port = sk->__sk_common.skc_num;
	s->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	s->cwnd = tp->snd_cwnd;
	s->ssthresh = tp->snd_ssthresh;
	s->inflight = tcp_packets_in_flight(tp);
	s->srtt_us = tp->srtt_us >> 3;
	s->min_rtt_us = tcp_min_rtt(tp);
	s->mss = tp->mss_cache;
	s->delivered = tp->delivered;
	s->lost = tp->lost;
	s->snd_una = tp->snd_una;
	s->ca_state = cc_ca_state((struct sock *)tp);
	bpf_ringbuf_submit(s, 1 /* BPF_RB_NO_WAKEUP */);
	return 0;
}

CC_LICENSE("Dual MIT/GPL");
