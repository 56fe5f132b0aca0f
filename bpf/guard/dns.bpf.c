// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Passes the payload of DNS answers over UDP, to queries from hosts behind this device, to user space, truncated to the
 * record size. An answer is accepted if its address, port, number and question are those of a query that was sent (RFC
 * 5452 section 9.1; names are compared without regard to case). An answer that does not match does not end the query.
 *
 * Answers that arrive faster than user space reads them are dropped when the ring is full; the ring is small on
 * purpose.
 */
#include "packet.h"

#define RING_BYTES (1 << 18)
#define MAX_QUERIES 4096
#define DNS_PORT 53
#define UDP_HEADER 8
#define DNS_HEADER 12
/* Maximum size of answers over UDP (DNS flag day 2020). */
#define MAX_ANSWER 1232
/* RFC 1035 section 3.1 and 4.1.2: a name, type and class. */
#define MAX_LABEL 63
#define MAX_NAME 255
#define MAX_QUESTION (MAX_NAME + 4)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} guard_answers SEC(".maps");

/* An unanswered query. */
struct guard_query {
	u8 local[16];
	u8 remote[16];
	u16 local_port;
	u16 id;
	u32 vlan;
};

/* The bytes after a query's header that may contain the question. */
struct guard_question {
	u32 length;
	u8 bytes[MAX_QUESTION + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_QUERIES);
	__type(key, struct guard_query);
	__type(value, struct guard_question);
} guard_queries SEC(".maps");

/* A map entry, because it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct guard_question);
} guard_scratch SEC(".maps");

struct guard_answer {
	u32 length;
	u8 payload[MAX_ANSWER];
};
EXPORT_LAYOUT(guard_answer);

/* Returns the size of the message, bytes, or 0 if it is not DNS to (or from) port 53. */
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

static __always_inline u8 lower(u8 c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Returns whether the question of `answer`, `length` bytes, equals the question sent. Neither may be compressed. */
static __always_inline bool is_same_question(const struct guard_question *asked, const struct guard_answer *answer,
					     u32 length)
{
	u32 i, end, left = 0;

	for (i = 0; i < MAX_NAME; i++) {
		u8 one = asked->bytes[i], other = answer->payload[DNS_HEADER + i];

		if (i >= asked->length || DNS_HEADER + i >= length)
			return false;
		if (left) {
			left--;
			if (lower(one) != lower(other))
				return false;
		} else {
			if (one != other || one > MAX_LABEL)
				return false;
			left = one;
			if (!one)
				break;
		}
	}
	end = i + 5;
	if (i >= MAX_NAME || end > asked->length || DNS_HEADER + end > length)
		return false;
	for (u32 j = 1; j < 5; j++)
		if (asked->bytes[i + j] != answer->payload[DNS_HEADER + i + j])
			return false;
	return true;
}

SEC("tc")
int guard_dns_egress(struct __sk_buff *skb)
{
	struct guard_query query = {};
	struct guard_question *question;
	struct guard_layout at;
	u32 length = read_query(skb, GUARD_OUTGOING, &query, &at), zero = 0;

	if (length <= DNS_HEADER)
		return TCX_NEXT;
	question = bpf_map_lookup_elem(&guard_scratch, &zero);
	if (!question)
		return TCX_NEXT;
	length -= DNS_HEADER;
	if (length > MAX_QUESTION)
		length = MAX_QUESTION;
	question->length = length;
	if (!bpf_skb_load_bytes(skb, at.transport + UDP_HEADER + DNS_HEADER, question->bytes, length))
		bpf_map_update_elem(&guard_queries, &query, question, BPF_ANY);
	return TCX_NEXT;
}

SEC("tc")
int guard_dns_ingress(struct __sk_buff *skb)
{
	struct guard_query query = {};
	const struct guard_question *asked;
	struct guard_answer *answer;
	struct guard_layout at;
	u32 length = read_query(skb, GUARD_INCOMING, &query, &at);

	if (!length || length > MAX_ANSWER)
		return TCX_NEXT;
	asked = bpf_map_lookup_elem(&guard_queries, &query);
	if (!asked)
		return TCX_NEXT;
	answer = bpf_ringbuf_reserve(&guard_answers, sizeof(*answer), 0);
	if (!answer)
		return TCX_NEXT;
	answer->length = length;
	if (bpf_skb_load_bytes(skb, at.transport + UDP_HEADER, answer->payload, length) ||
	    !is_same_question(asked, answer, length) || bpf_map_delete_elem(&guard_queries, &query)) {
		bpf_ringbuf_discard(answer, BPF_RB_NO_WAKEUP);
		return TCX_NEXT;
	}
	bpf_ringbuf_submit(answer, BPF_RB_NO_WAKEUP);
	return TCX_NEXT;
}

CC_LICENSE("Dual MIT/GPL");
