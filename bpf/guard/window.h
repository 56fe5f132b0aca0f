/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The window in a departing ACK: the decisions of crates/guard/src/window.rs, which a test compares with these, packet
 * by packet. All numbers in host order.
 */
#ifndef FAIRWEIR_GUARD_WINDOW_H
#define FAIRWEIR_GUARD_WINDOW_H

#include "packet.h"

/* User space's target for a flow. */
struct guard_target {
	u32 bytes; /* maximum in flight */
	u32 least; /* two segments */
	u32 wscale; /* from the handshake, if there is no socket; NO_WSCALE: unknown */
	u32 bytes_per_s; /* the pace: crates/guard/src/pace.rs; 0: none */
	u32 quantum; /* bytes by which it moves the edge */
	u32 unused;
	u64 depth_ns; /* maximum credit */
};

/* Lifetime of a promise. */
#define PROMISE_NS NSEC_PER_SEC

/* Maximum time for which a wait is computed from an earlier rate. */
#define LOOK_EVERY_NS (NSEC_PER_SEC / 4)

/* Headers of the latest ACK with too small a promise: Ethernet, two VLAN tags, IPv4 and TCP with all options. */
#define ACK_BYTES 142

struct guard_ack {
	u32 next_seq; /* of the host */
	u16 tag[2]; /* of a VLAN tag outside of the headers: protocol and TCI, host order; 0: none */
	u16 ip; /* offsets of the headers, bytes */
	u16 transport;
	u16 end; /* 0: there is no ACK */
	u8 bytes[ACK_BYTES];
};

/* Promises made to the flow. */
struct guard_promise {
	u32 edge; /* highest sequence number, exclusive */
	u32 own; /* the same without guard, from the host's view */
	u64 at_ns; /* when the latest ACK left; monotonic */
	u64 paid_ns; /* when all promised bytes are paid for, at the flow's pace */
	u32 ack; /* the latest */
	u32 scale;
	u32 is_waiting; /* user space has been requested to repeat the ACK below */
	u32 unused;
	struct guard_ack last;
};

/* Returns the target in units of 2^scale bytes: rounded down, but at least two segments. */
static __always_inline u32 target_units(const struct guard_target *target, u32 scale)
{
	u32 unit = 1U << scale;

	return max(target->bytes >> scale, (target->least + unit - 1) >> scale);
}

static __always_inline u64 quantum_of(const struct guard_target *target, u32 scale)
{
	return max((u64)target->quantum, 1ULL << scale);
}

/* Returns the time in which the pace permits `bytes`; the flow has a pace. */
static __always_inline u64 time_for(const struct guard_target *target, u64 bytes)
{
	u64 pace = target->bytes_per_s ?: 1;

	return (bytes * NSEC_PER_SEC + pace - 1) / pace;
}

/* Returns the time at which all promised bytes are paid for, limited to the range that is valid now. */
static __always_inline u64 settled(const struct guard_target *target, u32 scale, u64 paid, u64 now)
{
	u64 quantum_ns = time_for(target, quantum_of(target, scale));
	u64 depth_ns = max(target->depth_ns, time_for(target, 2 * quantum_of(target, scale)));

	return min(max(paid, now > depth_ns ? now - depth_ns : 0), now + quantum_ns);
}

static __always_inline u32 missing(u32 wanted, u32 promised)
{
	return wanted > promised ? wanted - promised : 0;
}

/* Returns how many of the missing bytes may be promised. */
static __always_inline u32 grant(const struct guard_target *target, u32 scale, u32 wanted, u64 paid, u64 now)
{
	u64 earned = now > paid ? (now - paid) * target->bytes_per_s / NSEC_PER_SEC : 0;

	if (earned >= wanted)
		return wanted;
	return earned >= quantum_of(target, scale) ? earned : 0;
}

/*
 * The rest of a promise, in units: rounded up, so that the right edge does not move back. An ACK of less than a unit
 * (`acked` bytes) rounds down, as the windows of a sender whose segments are small would not shrink otherwise.
 */
static __always_inline u32 kept_units(u32 promised, u32 acked, u32 scale)
{
	u32 unit = 1U << scale;

	return acked < unit ? promised >> scale : (promised + unit - 1) >> scale;
}

/*
 * Never above `window`, as the host has no more buffer; and the right edge never moves back (RFC 9293 §3.8.6.2.1),
 * except by less than a unit in an ACK of less than a unit (RFC 7323 §2.4 requires senders to bear that). No faster
 * than the pace: `waits_until` is when the sender must be sent a larger window, as it has no data left to send that
 * would cause another ACK; 0: not needed. `newly` are the bytes that no ACK has promised before.
 *
 * Other processors may take the same decision at the same time. The second one promises nothing new.
 */
static __always_inline u16 advertise(struct guard_promise *promise, u32 ack, u32 acked, u16 window, u32 scale,
				     const struct guard_target *target, u64 now, u64 *waits_until, u32 *newly)
{
	u32 edge = promise->edge, promised = 0, wanted, units;
	bool is_paced = target->bytes_per_s;
	u64 paid = is_paced ? settled(target, scale, promise->paid_ns, now) : 0;

	*waits_until = 0;
	*newly = 0;
	if ((s32)(edge - ack) > 0)
		promised = edge - ack;
	wanted = min(target_units(target, scale), (u32)window);
	units = wanted;
	if (is_paced)
		units = min((promised + grant(target, scale, missing(wanted << scale, promised), paid, now)) >> scale, wanted);
	units = min(max(units, kept_units(promised, acked, scale)), (u32)window);
	if ((s32)(ack + (units << scale) - edge) > 0)
		*newly = ack + (units << scale) - edge;
	if (*newly && __sync_val_compare_and_swap(&promise->edge, edge, edge + *newly) != edge) {
		*newly = 0;
		units = min(promised >> scale, (u32)window);
	}
	if (!is_paced)
		return units;
	if (*newly) {
		paid = settled(target, scale, paid + time_for(target, *newly), now);
		promise->paid_ns = paid;
	}
	if (2 * units < wanted) {
		u64 next = min(quantum_of(target, scale), (u64)missing(wanted << scale, promised + *newly));

		*waits_until = min(paid + time_for(target, next), now + LOOK_EVERY_NS);
	}
	return units;
}

/*
 * Whether data is beyond the advertised window: the sender ignores it. The host would accept it, within its own window.
 * One byte more is a probe of a window that is closed (RFC 9293 §3.8.6.1).
 *
 * A promise that no ACK has renewed for long may not be the latest one: ACKs may leave by another device by now.
 */
static __always_inline bool is_beyond(const struct guard_promise *promise, const struct guard_packet *p)
{
	if (p->time_ns - promise->at_ns > PROMISE_NS || (s32)(promise->own - promise->edge) <= 0)
		return false;
	return (s32)(p->seq + p->payload - promise->edge) > 1 && (s32)(promise->own - p->seq) > 0;
}

#endif
