/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The window that a departing ACK carries: the decisions of crates/guard/src/window.rs, which a test compares with
 * these, packet by packet. All numbers in host order.
 */
#ifndef FAIRWEIR_GUARD_WINDOW_H
#define FAIRWEIR_GUARD_WINDOW_H

#include "packet.h"

/* What user space wants of a flow. */
struct guard_target {
	u32 bytes; /* to have in flight */
	u32 least; /* two segments */
	u32 wscale; /* from the handshake, where no socket tells; NO_WSCALE: unknown */
};

/* For so long a promise is the latest one. */
#define PROMISE_NS NSEC_PER_SEC

/* What the flow has been promised. */
struct guard_promise {
	u32 edge; /* highest sequence number, exclusive */
	u32 own; /* the same without guard, as the host believes */
	u64 at_ns; /* when the latest ACK left; monotonic */
};

/* Units of 2^scale bytes: rounded down, but not below two segments. */
static __always_inline u32 target_units(const struct guard_target *target, u32 scale)
{
	u32 unit = 1U << scale;

	return max(target->bytes >> scale, (target->least + unit - 1) >> scale);
}

/*
 * Never above `window`, as the host has no more room; and the right edge never moves back (RFC 9293 §3.8.6.2.1), except
 * by less than a unit where a unit is more than a segment: there ACKs acknowledge less than a unit each, and no smaller
 * window could be told otherwise (RFC 7323 §2.4 asks senders to bear that).
 */
static __always_inline u16 advertise(struct guard_promise *promise, u32 ack, u16 window, u32 scale,
				     const struct guard_target *target)
{
	u32 unit = 1U << scale, promised = 0, least, units, reached;
	bool is_coarse = unit > target->least / 2;

	if ((s32)(promise->edge - ack) > 0)
		promised = promise->edge - ack;
	least = is_coarse ? promised >> scale : (promised + unit - 1) >> scale;
	units = min(max(target_units(target, scale), least), (u32)window);
	reached = ack + (units << scale);
	if ((s32)(reached - promise->edge) > 0)
		promise->edge = reached;
	return units;
}

/*
 * Data behind the window that the sender was told: it ignores it. The host would take them, as far as its own window
 * reaches. One byte more is a probe of a window that is closed (RFC 9293 §3.8.6.1).
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
