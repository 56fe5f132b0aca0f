// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * highspeed: Reno with a larger increase and a smaller decrease at larger windows (HighSpeed TCP, RFC 3649)
 *
 * Model, per packet acknowledged and per loss episode, with w = cwnd in packets:
 *
 *	cwnd += a(w) / cwnd          ssthresh = cwnd (1 - b(w)), at least 2
 *	w <= 38:  a = 1, b = 1/2: Reno
 *	else      b(w) = 1/2 - 0.4 log(w/38) / log(83000/38)
 *	          a(w) = w^2 p(w) 2 b(w) / (2 - b(w)),  p(w) = 0.078 / w^1.2
 *
 * Contract: at a loss rate p its window is 0.12 / p^0.835 instead of 1.2 / p^0.5 packets (section 5).
 * Slow start, timeouts and recovery are Reno's.
 *
 * Source: RFC 3649 sections 5 and 7.
 *
 * Deviations: a(w) is rounded down to whole packets and b(w) is evaluated where a(w) changes, as in the table of the
 * RFC's appendix B; b in 1/256. Limited slow start (RFC 3742) is not implemented.
 */
#include "tcp.h"

struct highspeed_row {
	u32 from_cwnd; /* packets; a is the row's number and one */
	u32 decrease; /* b, 1/256 */
};

/* RFC 3649 section 7, each row from the minimum window of its a; tests/runs/test_highspeed.py tests the result. */
static const struct highspeed_row highspeed_table[] = {
	{0, 128},    {118, 113},  {221, 105},  {347, 99},   {494, 94},	 {662, 90},   {849, 87},   {1056, 84},
	{1282, 81},  {1527, 79},  {1791, 77},  {2073, 75},  {2375, 73},	 {2695, 71},  {3035, 70},  {3395, 68},
	{3774, 67},  {4173, 65},  {4592, 64},  {5032, 63},  {5493, 62},	 {5975, 61},  {6479, 60},  {7005, 59},
	{7554, 58},  {8126, 57},  {8722, 56},  {9342, 55},  {9987, 54},	 {10658, 53}, {11355, 52}, {12080, 51},
	{12832, 50}, {13613, 50}, {14424, 49}, {15265, 48}, {16138, 47}, {17044, 47}, {17984, 46}, {18959, 45},
	{19971, 45}, {21020, 44}, {22110, 43}, {23240, 43}, {24413, 42}, {25632, 41}, {26897, 41}, {28211, 40},
	{29578, 39}, {30998, 39}, {32477, 38}, {34015, 37}, {35618, 37}, {37289, 36}, {39032, 36}, {40853, 35},
	{42756, 34}, {44748, 34}, {46836, 33}, {49027, 33}, {51330, 32}, {53757, 31}, {56318, 31}, {59029, 30},
	{61906, 30}, {64970, 29}, {68246, 28}, {71765, 28}, {75567, 27}, {79705, 26},
};
#define HIGHSPEED_ROWS (sizeof(highspeed_table) / sizeof(highspeed_table[0]))
#define HIGHSPEED_DECREASE_SHIFT 8
/* First step of the search: the largest power of two below the number of rows. */
#define HIGHSPEED_FIRST_STEP 64U

static __always_inline const struct highspeed_row *highspeed_at(u32 row)
{
	return &highspeed_table[min(row, (u32)HIGHSPEED_ROWS - 1)];
}

/* Returns the last row that begins at or below `cwnd` packets. */
static __always_inline u32 highspeed_row_of(u32 cwnd)
{
	u32 row = 0, step;

	for (step = HIGHSPEED_FIRST_STEP; step > 0; step >>= 1) {
		if (row + step < HIGHSPEED_ROWS && cwnd >= highspeed_at(row + step)->from_cwnd)
			row += step;
	}
	return row;
}

SEC("struct_ops/highspeed_cong_avoid")
void BPF_PROG(highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked * (highspeed_row_of(tp->snd_cwnd) + 1));
}

static __always_inline u32 highspeed_reduced(u64 cwnd)
{
	u64 cut = cwnd * highspeed_at(highspeed_row_of(cwnd))->decrease >> HIGHSPEED_DECREASE_SHIFT;

	return max((u32)(cwnd - cut), 2U);
}

SEC("struct_ops/highspeed_ssthresh")
u32 BPF_PROG(highspeed_ssthresh, struct sock *sk)
{
	return highspeed_reduced(tcp_sk(sk)->snd_cwnd);
}

static __always_inline void highspeed_keep_ssthresh(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cc_ssthresh_is_of_prior_cwnd(tp, state))
		cc_keep_ssthresh(tp, highspeed_reduced(tp->prior_cwnd));
}

SEC("struct_ops/highspeed_set_state")
void BPF_PROG(highspeed_set_state, struct sock *sk, u8 new_state)
{
	highspeed_keep_ssthresh(sk, new_state);
}

SEC("struct_ops/highspeed_pkts_acked")
void BPF_PROG(highspeed_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	highspeed_keep_ssthresh(sk, cc_ca_state(sk));
}

SEC("struct_ops/highspeed_undo_cwnd")
u32 BPF_PROG(highspeed_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops highspeed = {
	.ssthresh = (void *)highspeed_ssthresh,
	.undo_cwnd = (void *)highspeed_undo_cwnd,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.pkts_acked = (void *)highspeed_pkts_acked,
	.set_state = (void *)highspeed_set_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "highspeed",
};

CC_LICENSE("Dual MIT/GPL");
