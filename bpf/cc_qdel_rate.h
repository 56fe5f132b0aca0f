/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The decision of rules/cc_qdel.toml, for CCAs that are cc_qdel for a while. Written by `fairweir rule`. */
#ifndef FAIRWEIR_CC_QDEL_RATE_H
#define FAIRWEIR_CC_QDEL_RATE_H

#include "beliefs.h"
#include "rule.h"

/* Sending rate of the rule, bytes/s. */
static __always_inline u64 cc_qdel_rate(const struct beliefs *b, u32 mss)
{
	s64 c_l = rule_quantity(b->c_l);
	s64 qdel_l = b->qdel_l_us;
	u64 least = belief_packet_rate(b->rtprop_us, mss);

	if (qdel_l > 0)
		return max(rule_share(c_l, 2), least);
	return max(rule_share(2 * c_l, 1), least);
}

#endif
