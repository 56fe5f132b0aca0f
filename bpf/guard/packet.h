/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * A packet, usually TCP, that passes a network device: with or without a link header, VLAN tags in band or out of band,
 * IPv4 with options, IPv6 with extension headers. Fragments are ignored except atomic fragments, which are complete
 * (RFC 6946). All reads use the kernel's bounds checks.
 */
#ifndef FAIRWEIR_GUARD_PACKET_H
#define FAIRWEIR_GUARD_PACKET_H

#include "tcp.h"

/* The context of a tc program in the kernel's user-space ABI; only the fields used here. */
struct __sk_buff {
	u32 len;
	u32 unused_before_mark;
	u32 mark;
	u32 unused_before_vlan[2];
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto; /* network order */
	u32 unused_before_tstamp[30];
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	struct sock_common *sk;
	u32 gso_size;
};
_Static_assert(__builtin_offsetof(struct __sk_buff, sk) == 168, "struct __sk_buff is the kernel's ABI");

/* Constants of the kernel's user-space ABI; linux/bpf.h declares more than this compiler supports. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_F_NO_PREALLOC = 1,
	BPF_ANY = 0,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	TCX_NEXT = -1, /* TC_ACT_UNSPEC */
	TCX_DROP = 2, /* TC_ACT_SHOT */
};

/* Exports a record's layout in the object, from which user space reads it (crates/guardd/build.rs). */
#define EXPORT_LAYOUT(name) struct name *name##_layout

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_PSH 0x08
#define TCP_ACK 0x10

#define NO_WSCALE 0xff
#define MAX_WSCALE 14 /* RFC 7323 §2.3 */

enum guard_direction { GUARD_INCOMING = 0, GUARD_OUTGOING = 1 };

/* The connection, from the view of the receiver of data; IPv4 addresses are mapped to IPv6. */
struct guard_flow {
	u8 local[16];
	u8 remote[16];
	u16 local_port; /* host order */
	u16 remote_port;
	u32 vlan;
};

/* The summary for user space. */
struct guard_packet {
	u64 time_ns; /* monotonic */
	struct guard_flow flow;
	u32 seq; /* host order */
	u32 ack;
	u32 payload; /* bytes, of all segments */
	u32 wire; /* bytes on the link, with the headers of all segments */
	u32 tsval;
	u32 tsecr;
	u16 segs;
	u16 window; /* not scaled */
	u8 flags;
	u8 wscale; /* NO_WSCALE: not offered */
	u8 has_timestamps;
	u8 direction;
};
_Static_assert(sizeof(struct guard_packet) == 80, "the record has no holes");

/* Bytes before the IP header on this device: 14, or 0 for TUN and the like. Set before loading. */
const volatile u32 guard_link_header = 14;

static __always_inline u16 be16(const u8 *p)
{
	return (u16)p[0] << 8 | p[1];
}

static __always_inline u32 be32(const u8 *p)
{
	return (u32)be16(p) << 16 | be16(p + 2);
}

#define ETH_IP 0x0800
#define ETH_IPV6 0x86dd
#define ETH_VLAN 0x8100
#define ETH_QINQ 0x88a8
#define VLAN_ID 0x0fff

#define PROTO_TCP 6
#define PROTO_UDP 17
#define IP_FRAGMENT 0x3fff /* offset, or more to come */
#define IPV6_HOP_BY_HOP 0
#define IPV6_ROUTING 43
#define IPV6_FRAGMENT 44
#define IPV6_DESTINATION 60
#define IPV6_IS_FRAGMENTED 0xfff9 /* offset, or more to come */
/* Linux processes as many as fit in a packet; 1,500 bytes contain up to 180. */
#define MAX_EXTENSIONS 192

/* Offsets of the headers, bytes from the start. */
struct guard_layout {
	u32 ip;
	u32 transport;
	u32 payload;
	u32 end; /* of the payload: frames may be padded */
	bool is_signed; /* by TCP-AO or TCP-MD5: a modified header is invalid */
};

static __always_inline bool read_ipv4(struct __sk_buff *skb, u8 protocol, struct guard_layout *at, u8 *src, u8 *dst)
{
	u8 ip[20];
	u32 header;

	if (bpf_skb_load_bytes(skb, at->ip, ip, sizeof(ip)))
		return false;
	header = (ip[0] & 15) * 4;
	if (ip[0] >> 4 != 4 || header < sizeof(ip) || ip[9] != protocol || (be16(ip + 6) & IP_FRAGMENT))
		return false;
	at->transport = at->ip + header;
	at->end = at->ip + be16(ip + 2);
	__builtin_memset(src, 0, 10);
	__builtin_memset(dst, 0, 10);
	__builtin_memset(src + 10, 0xff, 2);
	__builtin_memset(dst + 10, 0xff, 2);
	__builtin_memcpy(src + 12, ip + 12, 4);
	__builtin_memcpy(dst + 12, ip + 16, 4);
	return true;
}

struct guard_extensions {
	struct __sk_buff *skb;
	u32 at;
	u8 next;
	u8 protocol;
	bool is_broken;
};

/* Skips one extension header; returns 1 to end the loop. */
static long skip_extension(u32 index, struct guard_extensions *seen)
{
	u8 bytes[4];

	(void)index;
	if (seen->next == seen->protocol)
		return 1;
	if (seen->next != IPV6_HOP_BY_HOP && seen->next != IPV6_ROUTING && seen->next != IPV6_DESTINATION &&
	    seen->next != IPV6_FRAGMENT)
		seen->is_broken = true;
	else if (bpf_skb_load_bytes(seen->skb, seen->at, bytes, sizeof(bytes)))
		seen->is_broken = true;
	else if (seen->next == IPV6_FRAGMENT && (be16(bytes + 2) & IPV6_IS_FRAGMENTED))
		seen->is_broken = true;
	if (seen->is_broken)
		return 1;
	seen->at += seen->next == IPV6_FRAGMENT ? 8 : (bytes[1] + 1) * 8;
	seen->next = bytes[0];
	return 0;
}

static __always_inline bool read_ipv6(struct __sk_buff *skb, u8 protocol, struct guard_layout *at, u8 *src, u8 *dst)
{
	struct guard_extensions seen = { .skb = skb, .protocol = protocol };
	u8 ip[40];

	if (bpf_skb_load_bytes(skb, at->ip, ip, sizeof(ip)) || ip[0] >> 4 != 6)
		return false;
	at->end = at->ip + sizeof(ip) + be16(ip + 4);
	seen.at = at->ip + sizeof(ip);
	seen.next = ip[6];
	if (seen.next != protocol)
		bpf_loop(MAX_EXTENSIONS, skip_extension, &seen, 0);
	if (seen.is_broken || seen.next != protocol)
		return false;
	at->transport = seen.at;
	__builtin_memcpy(src, ip + 8, 16);
	__builtin_memcpy(dst, ip + 24, 16);
	return true;
}

/* Returns the IP version, or 0 for other protocols, and finds the IP header after the link header. */
static __always_inline u32 read_link(struct __sk_buff *skb, struct guard_layout *at, u32 *vlan)
{
	u8 bytes[4];
	u16 type;
	int i;

	*vlan = skb->vlan_present ? skb->vlan_tci & VLAN_ID : 0;
	at->ip = guard_link_header;
	if (!guard_link_header)
		return bpf_skb_load_bytes(skb, 0, bytes, 1) ? 0 : bytes[0] >> 4;
	if (bpf_skb_load_bytes(skb, at->ip - 2, bytes, 2))
		return 0;
	type = be16(bytes);
	for (i = 0; i < 2 && (type == ETH_VLAN || type == ETH_QINQ); i++) {
		if (bpf_skb_load_bytes(skb, at->ip, bytes, 4))
			return 0;
		*vlan = be16(bytes) & VLAN_ID;
		type = be16(bytes + 2);
		at->ip += 4;
	}
	return type == ETH_IP ? 4 : type == ETH_IPV6 ? 6 : 0;
}

/* Finds the transport header, if it is of `protocol`, and the endpoints. */
static __always_inline bool read_network(struct __sk_buff *skb, u8 protocol, struct guard_layout *at, u32 *vlan, u8 *src,
					 u8 *dst)
{
	u32 version = read_link(skb, at, vlan);

	if (version == 4)
		return read_ipv4(skb, protocol, at, src, dst);
	return version == 6 && read_ipv6(skb, protocol, at, src, dst);
}

#define TCP_HEADER 20
#define MAX_OPTIONS 40
#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_WSCALE 3
#define OPTION_TIMESTAMPS 8
#define OPTION_MD5 19 /* RFC 2385 */
#define OPTION_AO 29 /* RFC 5925 */
/* NOP NOP timestamps(10): the options of nearly every packet. */
#define USUAL_OPTIONS 0x0101080a

static __always_inline void set_timestamps(struct guard_packet *p, const u8 *stamps)
{
	p->has_timestamps = 1;
	p->tsval = be32(stamps);
	p->tsecr = be32(stamps + 4);
}

/* Reads one option after another; an invalid option ends the loop. */
static __always_inline void read_options(struct __sk_buff *skb, u32 at, u32 end, struct guard_packet *p,
					 struct guard_layout *layout)
{
	u8 kind, bytes[8];
	int i;

	for (i = 0; i < MAX_OPTIONS && at < end; i++) {
		u8 len;

		if (bpf_skb_load_bytes(skb, at, &kind, 1) || kind == OPTION_END)
			return;
		if (kind == OPTION_NOP) {
			at++;
			continue;
		}
		if (bpf_skb_load_bytes(skb, at + 1, &len, 1) || len < 2 || at + len > end)
			return;
		if (kind == OPTION_WSCALE && len == 3 && !bpf_skb_load_bytes(skb, at + 2, bytes, 1))
			p->wscale = min(bytes[0], (u8)MAX_WSCALE);
		if (kind == OPTION_TIMESTAMPS && len == 10 && !bpf_skb_load_bytes(skb, at + 2, bytes, 8))
			set_timestamps(p, bytes);
		if (kind == OPTION_MD5 || kind == OPTION_AO)
			layout->is_signed = true;
		at += len;
	}
}

/* Fills everything except time_ns; returns false if it is not a TCP packet. */
static __always_inline bool read_packet(struct __sk_buff *skb, enum guard_direction direction, struct guard_packet *p,
					struct guard_layout *at)
{
	bool is_outgoing = direction == GUARD_OUTGOING;
	u8 *src = is_outgoing ? p->flow.local : p->flow.remote;
	u8 *dst = is_outgoing ? p->flow.remote : p->flow.local;
	u8 tcp[TCP_HEADER], stamps[12];
	u32 header;

	if (!read_network(skb, PROTO_TCP, at, &p->flow.vlan, src, dst))
		return false;
	if (bpf_skb_load_bytes(skb, at->transport, tcp, sizeof(tcp)))
		return false;
	header = (tcp[12] >> 4) * 4;
	/* If the IP header has no length (packets above 64 KiB), the buffer's is used. */
	if (at->end <= at->transport)
		at->end = skb->len;
	if (header < TCP_HEADER || at->transport + header > at->end || at->end > skb->len)
		return false;
	p->direction = direction;
	p->flow.local_port = be16(is_outgoing ? tcp : tcp + 2);
	p->flow.remote_port = be16(is_outgoing ? tcp + 2 : tcp);
	p->seq = be32(tcp + 4);
	p->ack = be32(tcp + 8);
	p->flags = tcp[13];
	p->window = be16(tcp + 14);
	at->payload = at->transport + header;
	p->payload = at->end - at->payload;
	p->segs = min(skb->gso_segs ?: 1U, 0xffffU);
	p->wire = skb->len + (p->segs - 1) * (at->transport + header);
	p->wscale = NO_WSCALE;
	at->is_signed = false;
	if (!(p->flags & TCP_SYN) && header == TCP_HEADER + sizeof(stamps) &&
	    !bpf_skb_load_bytes(skb, at->transport + TCP_HEADER, stamps, sizeof(stamps)) && be32(stamps) == USUAL_OPTIONS)
		set_timestamps(p, stamps + 4);
	else if (header > TCP_HEADER)
		read_options(skb, at->transport + TCP_HEADER, at->transport + header, p, at);
	return true;
}

#endif
