// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Guard at a network device: passes summaries of TCP packets to user space, and reduces windows in departing ACKs.
 *
 * Only headers are copied. If the reader is too slow, most pure ACKs are dropped first. Data that does not fit is
 * merged into the summary of the flow's next data; only data that cannot be merged is lost, and counted.
 *
 * Source: CMU-CS-24-129 §3.2.2 for rate control by windows; RFC 7323, RFC 9293 for valid windows.
 */
#include "socket.h"
#include "window.h"

#define RING_BYTES (1 << 23)
#define RECORD_BYTES (sizeof(struct guard_packet) + 8)
/* One of this many pure ACKs is reported when the ring is more than half full. */
#define THINNED_TO 8
/* Time after a full ring during which flows are searched for merged data. */
#define HOLD_NS NSEC_PER_SEC
#define MAX_FLOWS 8192

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} guard_packets SEC(".maps");

/* Flows whose windows are limited; only user space writes this map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct guard_flow);
	__type(value, struct guard_target);
} guard_targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct guard_flow);
	__type(value, struct guard_promise);
} guard_promises SEC(".maps");

/* An empty entry, because an entry is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct guard_promise);
} guard_no_promise SEC(".maps");

/* A flow whose sender waits for a larger window. */
struct guard_wait {
	struct guard_flow flow;
	u64 until_ns; /* monotonic */
};

EXPORT_LAYOUT(guard_packet);
EXPORT_LAYOUT(guard_wait);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} guard_waits SEC(".maps");

/* Data for which the ring had no room. */
struct guard_held {
	u32 seq;
	u32 payload; /* 0: none */
	u32 wire;
	u32 segs;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct guard_flow);
	__type(value, struct guard_held);
} guard_held_data SEC(".maps");

struct guard_counts {
	u64 summarised;
	u64 lost; /* summaries of data, SYN, FIN, RST */
	u64 thinned; /* of pure ACKs */
	u64 merged; /* merged into a later one */
	u64 rewritten; /* windows reduced; clamps changed */
	u64 unscaled; /* windows not modified because their scale is unknown */
	u64 authenticated; /* windows not modified because the header is signed (TCP-AO, TCP-MD5) */
	u64 beyond; /* data dropped because the sender ignores its window */
	u64 renewed; /* ACKs sent again with a larger window */
	u64 held_until_ns; /* no data is merged after this */
} guard_state;

#define COUNT(what) __sync_fetch_and_add(&guard_state.what, 1)

static __always_inline bool tell(struct guard_packet *p, u64 waiting)
{
	/* Wake up the reader once while the ring fills: a wake-up costs more than a record. */
	bool is_time = waiting >= RING_BYTES / 4 && waiting < RING_BYTES / 4 + 4 * RECORD_BYTES;

	if (bpf_ringbuf_output(&guard_packets, p, sizeof(*p), is_time ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		return false;
	COUNT(summarised);
	return true;
}

static __always_inline void join(struct guard_packet *p, struct guard_held *held)
{
	if (held->seq + held->payload != p->seq) {
		COUNT(lost);
	} else {
		p->seq = held->seq;
		p->payload += held->payload;
		p->wire += held->wire;
		p->segs = min(p->segs + held->segs, 0xffffU);
		COUNT(merged);
	}
	held->payload = 0;
}

static __always_inline void report_incoming(struct guard_packet *p)
{
	u64 waiting = bpf_ringbuf_query(&guard_packets, BPF_RB_AVAIL_DATA);
	struct guard_held held = {};

	if (p->payload && p->time_ns < guard_state.held_until_ns) {
		struct guard_held *before = bpf_map_lookup_elem(&guard_held_data, &p->flow);

		if (before && before->payload)
			join(p, before);
	}
	if (tell(p, waiting))
		return;
	if (!p->payload || p->flags & (TCP_SYN | TCP_FIN | TCP_RST)) {
		COUNT(lost);
		return;
	}
	held.seq = p->seq;
	held.payload = p->payload;
	held.wire = p->wire;
	held.segs = p->segs;
	if (bpf_map_update_elem(&guard_held_data, &p->flow, &held, BPF_ANY))
		COUNT(lost);
	guard_state.held_until_ns = p->time_ns + HOLD_NS;
}

static __always_inline void report_outgoing(struct guard_packet *p)
{
	u64 waiting = bpf_ringbuf_query(&guard_packets, BPF_RB_AVAIL_DATA);
	bool is_pure_ack = !p->payload && (p->flags & ~TCP_PSH) == TCP_ACK;

	if (is_pure_ack && waiting > RING_BYTES / 2 && bpf_get_prandom_u32() % THINNED_TO) {
		COUNT(thinned);
		return;
	}
	if (!tell(p, waiting))
		COUNT(lost);
}

struct tcp_options_received {
	u16 rcv_wscale : 4;
} CC_CORE;

struct tcp_sock___guard {
	struct tcp_options_received rx_opt;
	u32 window_clamp;
} CC_CORE;

/* Reads the scale from the local socket, which also works for connections older than the guard. */
static __always_inline u32 scale_of(struct __sk_buff *skb, const struct guard_packet *p,
				    const struct guard_target *target)
{
	struct sock_common *common = skb->sk;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	struct tcp_sock___guard *guarded = (void *)tp;

	/* Another kind of socket, without this port, responds for a closed connection. */
	if (tp && ((struct sock *)tp)->__sk_common.skc_num == p->flow.local_port)
		return BPF_CORE_READ_BITFIELD(guarded, rx_opt.rcv_wscale);
	return target->wscale;
}

/*
 * Set before loading: sockets are clamped, and forwarded flows are not modified. TCP may widen a clamp again, with its
 * buffer or its estimate of a packet's memory cost; until the clamp takes effect, windows are rewritten as well.
 */
const volatile u32 guard_clamps = 0;

/* Set before loading: the device at which ACKs are sent again. */
const volatile u32 guard_device = 0;
/* Mark of repeated packets, whose headers are those of an ACK that was already reported. */
#define RENEWAL 0xfa1e0ac5

/* Requests user space to repeat the stored ACK, unless already requested. */
static __always_inline void ask(const struct guard_flow *flow, struct guard_promise *promise, u64 until_ns)
{
	struct guard_wait waiting = { .flow = *flow, .until_ns = until_ns };

	/* written before user space can read it */
	if (!__sync_lock_test_and_set(&promise->is_waiting, 1) &&
	    bpf_ringbuf_output(&guard_waits, &waiting, sizeof(waiting), BPF_RB_FORCE_WAKEUP))
		promise->is_waiting = 0;
}

/* Stores the ACK, which user space repeats when a larger window can be promised. */
static __always_inline void wait(struct __sk_buff *skb, const struct guard_packet *p, const struct guard_layout *at,
				 struct guard_promise *promise, u64 until_ns)
{
	u32 next_seq = p->seq + p->payload + (p->flags & TCP_FIN ? 1 : 0), length = at->payload;

	if (!length || length > ACK_BYTES || bpf_skb_load_bytes(skb, 0, promise->last.bytes, length))
		return;
	/* a retransmission has an older ACK */
	if (!promise->last.end || (s32)(next_seq - promise->last.next_seq) > 0)
		promise->last.next_seq = next_seq;
	promise->last.tag[0] = skb->vlan_present ? __builtin_bswap16(skb->vlan_proto) : 0;
	promise->last.tag[1] = skb->vlan_tci;
	promise->last.ip = at->ip;
	promise->last.transport = at->transport;
	promise->last.end = length;
	ask(&p->flow, promise, until_ns);
}

/* Creates a promise for the flow of `p`: earlier promises are unknown, so this window is the minimum. */
static __always_inline struct guard_promise *promise_anew(const struct guard_packet *p, u32 scale)
{
	u32 only = 0;
	struct guard_promise *promise, *none = bpf_map_lookup_elem(&guard_no_promise, &only);

	if (!none)
		return 0;
	bpf_map_update_elem(&guard_promises, &p->flow, none, BPF_ANY);
	promise = bpf_map_lookup_elem(&guard_promises, &p->flow);
	if (!promise)
		return 0;
	promise->edge = p->ack + ((u32)p->window << scale);
	promise->paid_ns = p->time_ns;
	promise->ack = p->ack;
	return promise;
}

/* Returns false for packets that must not leave: a renewal without anything to promise yet. */
static __always_inline bool hold_back(struct __sk_buff *skb, const struct guard_packet *p,
				      const struct guard_layout *at)
{
	struct guard_target *wanted = bpf_map_lookup_elem(&guard_targets, &p->flow), target;
	bool is_renewal = skb->mark == RENEWAL, is_latest;
	struct guard_promise *promise;
	u16 window, old, new;
	u64 waits_until;
	u32 scale, newly, acked = 0;

	if (!wanted || (guard_clamps && !skb->sk && !is_renewal))
		return true;
	if (at->is_signed) {
		COUNT(authenticated);
		return true;
	}
	target = *wanted;
	/* An ACK that cannot be repeated must not stop its sender. */
	if (at->payload > ACK_BYTES)
		target.bytes_per_s = 0;
	promise = bpf_map_lookup_elem(&guard_promises, &p->flow);
	scale = promise && is_renewal ? promise->scale : scale_of(skb, p, &target);
	if (scale > MAX_WSCALE) {
		COUNT(unscaled);
		return true;
	}
	/* A promise beyond every possible window is from an earlier connection; the start of this connection was not
	 * seen. */
	if (!promise || (s32)(promise->edge - p->ack) > (s32)(0xffffU << scale))
		promise = promise_anew(p, scale);
	if (!promise)
		return true;
	promise->own = p->ack + ((u32)p->window << scale);
	promise->at_ns = p->time_ns;
	promise->scale = scale;
	is_latest = (s32)(p->ack - promise->ack) >= 0;
	if (is_latest) {
		acked = p->ack - promise->ack;
		promise->ack = p->ack;
	}
	window = advertise(promise, p->ack, acked, p->window, scale, &target, p->time_ns, &waits_until, &newly);
	if (!waits_until)
		promise->is_waiting = 0;
	else if (is_latest)
		wait(skb, p, at, promise, waits_until);
	/* Even if another processor has just promised more: the renewal could leave after that ACK, and move the edge back. */
	if (is_renewal && waits_until && !newly)
		return false;
	if (window == p->window)
		return true;
	old = __builtin_bswap16(p->window);
	new = __builtin_bswap16(window);
	/* No effect if the device computes the checksum; required for a forwarded packet, whose checksum is
	 * complete. */
	if (bpf_l4_csum_replace(skb, at->transport + 16, old, new, sizeof(new)))
		return true;
	bpf_skb_store_bytes(skb, at->transport + 14, &new, sizeof(new), 0);
	COUNT(rewritten);
	return true;
}

/*
 * The host begins another connection: there is no promise yet, and user space learns its scale from the handshake. Its
 * target remains until the next decision of user space, as a sender may reconnect at will.
 */
static __always_inline void begin_anew(const struct guard_packet *p)
{
	struct guard_target *target = bpf_map_lookup_elem(&guard_targets, &p->flow);

	if (!target)
		return;
	target->wscale = NO_WSCALE;
	bpf_map_delete_elem(&guard_promises, &p->flow);
}

struct bpf_iter__tcp {
	void *meta;
	struct sock_common *sk_common;
};

#define LEVEL_TCP 6
#define TCP_WINDOW_CLAMP 10

/* The window clamp of a socket before its first change here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct guard_flow);
	__type(value, u32);
} guard_clamped SEC(".maps");

/* Each TCP socket of the network namespace, locked: its own flow control ensures that the right edge never moves
 * back. */
SEC("iter/tcp")
int guard_clamp(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	struct tcp_sock___guard *guarded = (void *)tp;
	struct guard_flow flow = {};
	struct guard_target *target;
	u32 *before, now;
	int clamp;

	if (!tp || !name_socket(common, &flow))
		return 0;
	target = bpf_map_lookup_elem(&guard_targets, &flow);
	before = bpf_map_lookup_elem(&guard_clamped, &flow);
	now = guarded->window_clamp;
	if (target) {
		clamp = min(max(target->bytes, target->least), 0x7fffffffU);
		if (!before)
			bpf_map_update_elem(&guard_clamped, &flow, &now, BPF_ANY);
	} else if (before) {
		clamp = *before;
		bpf_map_delete_elem(&guard_clamped, &flow);
	} else {
		return 0;
	}
	if ((u32)clamp != now && !bpf_setsockopt(tp, LEVEL_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp)))
		COUNT(rewritten);
	return 0;
}

/* Returns whether the sender of a flow with a limited window ignores its advertised window. */
static __always_inline bool ignores_window(const struct guard_packet *p)
{
	struct guard_promise *promise;

	if (!p->payload || !bpf_map_lookup_elem(&guard_targets, &p->flow))
		return false;
	promise = bpf_map_lookup_elem(&guard_promises, &p->flow);
	return promise && is_beyond(promise, p);
}

SEC("tc")
int guard_ingress(struct __sk_buff *skb)
{
	struct guard_layout at;
	struct guard_packet p = {};

	if (!read_packet(skb, GUARD_INCOMING, &p, &at))
		return TCX_NEXT;
	p.time_ns = bpf_ktime_get_ns();
	/* Data that the host will not receive is not reported. */
	if (ignores_window(&p)) {
		COUNT(beyond);
		return TCX_DROP;
	}
	report_incoming(&p);
	return TCX_NEXT;
}

/* Time until user space tries again. */
#define RETRY_NS (USEC_PER_MSEC * NSEC_PER_USEC)

/*
 * Whether the host has acknowledged more while user space was about to send this. Then user space must try again: that
 * ACK may not have requested it because of the pending request.
 */
static __always_inline bool is_outdated(const struct guard_packet *p)
{
	struct guard_promise *promise = bpf_map_lookup_elem(&guard_promises, &p->flow);

	if (!promise)
		return false;
	promise->is_waiting = 0;
	if ((s32)(promise->ack - p->ack) <= 0)
		return false;
	ask(&p->flow, promise, p->time_ns + RETRY_NS);
	return true;
}

/* User space runs it with the frame of an ACK that is to leave (again); its window is then decided at the device.
 * */
SEC("tc")
int guard_renew(struct __sk_buff *skb)
{
	skb->mark = RENEWAL;
	bpf_clone_redirect(skb, guard_device, 0);
	return TCX_DROP;
}

SEC("tc")
int guard_egress(struct __sk_buff *skb)
{
	struct guard_layout at;
	struct guard_packet p = {};

	if (!read_packet(skb, GUARD_OUTGOING, &p, &at))
		return TCX_NEXT;
	p.time_ns = bpf_ktime_get_ns();
	if (skb->mark == RENEWAL) {
		if (is_outdated(&p) || !hold_back(skb, &p, &at))
			return TCX_DROP;
		/* It is a guard's mark only here: there may be another guard at a lower device. */
		skb->mark = 0;
		COUNT(renewed);
		return TCX_NEXT;
	}
	report_outgoing(&p);
	if ((p.flags & (TCP_SYN | TCP_RST)) == TCP_SYN)
		begin_anew(&p);
	else if ((p.flags & (TCP_ACK | TCP_RST)) == TCP_ACK)
		hold_back(skb, &p, &at);
	return TCX_NEXT;
}

CC_LICENSE("Dual MIT/GPL");
