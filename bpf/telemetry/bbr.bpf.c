// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The kernel's own BBR, called from BPF: its decisions are Linux's, its cost is measured as for ours. Since Linux 6.10,
 * whose cong_control has four arguments.
 */
#include "tcp.h"

extern void bbr_init(struct sock *sk) __ksym;
extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) __ksym;
extern u32 bbr_sndbuf_expand(struct sock *sk) __ksym;
extern u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern u32 bbr_ssthresh(struct sock *sk) __ksym;
extern u32 bbr_min_tso_segs(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, u8 new_state) __ksym;

SEC("struct_ops/b_init")
void BPF_PROG(b_init, struct sock *sk)
{
	bbr_init(sk);
}

SEC("struct_ops/b_cong_control")
void BPF_PROG(b_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	bbr_main(sk, ack, flag, rs);
}

SEC("struct_ops/b_sndbuf_expand")
u32 BPF_PROG(b_sndbuf_expand, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

SEC("struct_ops/b_undo_cwnd")
u32 BPF_PROG(b_undo_cwnd, struct sock *sk)
{
	return bbr_undo_cwnd(sk);
}

SEC("struct_ops/b_cwnd_event")
void BPF_PROG(b_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	bbr_cwnd_event(sk, event);
}

SEC("struct_ops/b_ssthresh")
u32 BPF_PROG(b_ssthresh, struct sock *sk)
{
	return bbr_ssthresh(sk);
}

SEC("struct_ops/b_min_tso_segs")
u32 BPF_PROG(b_min_tso_segs, struct sock *sk)
{
	return bbr_min_tso_segs(sk);
}

SEC("struct_ops/b_set_state")
void BPF_PROG(b_set_state, struct sock *sk, u8 new_state)
{
	bbr_set_state(sk, new_state);
}

SEC(".struct_ops")
struct tcp_congestion_ops bbr = {
	.init = (void *)b_init,
	.cong_control = (void *)b_cong_control,
	.sndbuf_expand = (void *)b_sndbuf_expand,
	.undo_cwnd = (void *)b_undo_cwnd,
	.cwnd_event = (void *)b_cwnd_event,
	.ssthresh = (void *)b_ssthresh,
	.min_tso_segs = (void *)b_min_tso_segs,
	.set_state = (void *)b_set_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bbr",
};

CC_LICENSE("Dual MIT/GPL");
