// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * DNS answers over UDP that somebody behind this device has asked for: their payload goes to user space, as far as it
 * fits. A forged answer would have to guess port and number of a query that left, as a resolver's asks for too (RFC 5452).
 *
 * Where answers come faster than they are read, what finds no room is not told; the ring is small on purpose.
 */
#include "packet.h"

#define ANY 0 /* BPF_ANY */
#define NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP */
#define NEXT_PROGRAM (-1) /* TCX_NEXT */

#define RING_BYTES (1 << 18)
#define MAX_QUERIES 4096
#define DNS_PORT 53
#define UDP_HEADER 8
#define DNS_HEADER 12
/* What resolvers keep answers over UDP to (DNS flag day 2020). */
#define MAX_ANSWER 1232

struct {
	__uint(type, 27 /* BPF_MAP_TYPE_RINGBUF */);
	__uint(max_entries, RING_BYTES);
} guard_answers SEC(".maps");

/* What has been asked and is not answered. */
struct guard_query {
	u8 local[16];
	u8 remote[16];
	u16 local_port;
	u16 id;
	u32 vlan;
};

struct {
	__uint(type, 9 /* BPF_MAP_TYPE_LRU_HASH */);
	__uint(max_entries, MAX_QUERIES);
	__type(key, struct guard_query);
	__type(value, u8);
} guard_queries SEC(".maps");

/* crates/guardd/src/answers.rs reads it. */
struct guard_answer {
	u32 length;
	u8 payload[MAX_ANSWER];
};

/* Bytes of the message, 0 for what is no DNS to (or from) port 53. */
static __always_inline u32 read_query(struct __sk_buff *skb, enum guard_direction direction, struct guard_query *query,
				      struct guard_layout *at)
{
	bool is_outgoing = direction == GUARD_OUTGOING;
	u8 *src = is_outgoing ? query->local : query->remote;
	u8 *dst = is_outgoing ? query->remote : query->local;
	u8 head[UDP_HEADER + 2];
	u32 length;

	if (!read_network(skb, PROTO_UDP, at, &query->vlan, src, dst))
		return 0;
	if (bpf_skb_load_bytes(skb, at->transport, head, sizeof(head)))
		return 0;
	if (be16(is_outgoing ? head + 2 : head) != DNS_PORT)
		return 0;
	query->local_port = be16(is_outgoing ? head : head + 2);
	query->id = be16(head + UDP_HEADER);
	length = be16(head + 4);
	if (length < UDP_HEADER + DNS_HEADER || at->transport + length > skb->len)
		return 0;
	return length - UDP_HEADER;
}

SEC("tc")
int guard_dns_egress(struct __sk_buff *skb)
{
	struct guard_query query = {};
	struct guard_layout at;
	u8 asked = 1;

	if (read_query(skb, GUARD_OUTGOING, &query, &at))
		bpf_map_update_elem(&guard_queries, &query, &asked, ANY);
	return NEXT_PROGRAM;
}

SEC("tc")
int guard_dns_ingress(struct __sk_buff *skb)
{
	struct guard_query query = {};
	struct guard_answer *answer;
	struct guard_layout at;
	u32 length = read_query(skb, GUARD_INCOMING, &query, &at);

	if (!length || length > MAX_ANSWER || bpf_map_delete_elem(&guard_queries, &query))
		return NEXT_PROGRAM;
	answer = bpf_ringbuf_reserve(&guard_answers, sizeof(*answer), 0);
	if (!answer)
		return NEXT_PROGRAM;
	answer->length = length;
	if (bpf_skb_load_bytes(skb, at.transport + UDP_HEADER, answer->payload, length))
		bpf_ringbuf_discard(answer, NO_WAKEUP);
	else
		bpf_ringbuf_submit(answer, NO_WAKEUP);
	return NEXT_PROGRAM;
}

CC_LICENSE("Dual MIT/GPL");
