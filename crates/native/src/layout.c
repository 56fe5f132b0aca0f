/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and offsets of native.h's structs, for the test that abi.rs mirrors them; in the order of abi.rs's list. */
#include "tcp.h"
#include "record.h"

#define TCP(field) offsetof(struct tcp_sock, field)
#define RS(field) offsetof(struct rate_sample, field)
#define OPS(field) offsetof(struct tcp_congestion_ops, field)

const size_t fairweir_layout[] = {
	sizeof(struct tcp_sock),
	sizeof(struct rate_sample),
	sizeof(struct ack_sample),
	sizeof(struct tcp_congestion_ops),
	sizeof(struct cc_param),
	offsetof(struct sock, cc_oracle_us),
	offsetof(struct sock, cc_param_values),
	TCP(inet_conn.icsk_ca_state),
	TCP(inet_conn.icsk_ca_priv),
	TCP(tcp_mstamp),
	TCP(snd_cwnd),
	TCP(snd_ssthresh),
	TCP(snd_una),
	TCP(srtt_us),
	TCP(rtt_min),
	TCP(packets_out),
	TCP(delivered),
	TCP(lsndtime),
	TCP(is_cwnd_limited),
	RS(delivered),
	RS(interval_us),
	RS(rtt_us),
	RS(losses),
	RS(prior_in_flight),
	RS(is_app_limited),
	OPS(cong_control),
	OPS(init),
	OPS(flags),
	OPS(name),
	offsetof(struct cc_param, def),
	offsetof(struct cc_param, unit),
};
const size_t fairweir_layout_len = sizeof(fairweir_layout) / sizeof(fairweir_layout[0]);

#define RECORD(field) offsetof(struct cc_record, field)

const size_t fairweir_record_layout[] = {
	sizeof(struct cc_record),
	sizeof(struct cc_record_params),
	RECORD(local_ip4),
	RECORD(now_ns),
	RECORD(returned),
	RECORD(args),
	RECORD(sample),
	RECORD(sample.last_end_seq),
	RECORD(socket),
	RECORD(socket.rtt_min),
	RECORD(socket.reordering),
	RECORD(before),
	RECORD(before.icsk_ca_priv),
	RECORD(after),
	offsetof(struct cc_record_params, values),
	CC_RECORD_RELEASE,
	CC_RECORD_PARAMS,
};
const size_t fairweir_record_layout_len = sizeof(fairweir_record_layout) / sizeof(fairweir_record_layout[0]);
