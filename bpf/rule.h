/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Arithmetic of rules that were written out as C: sums of beliefs times small whole numbers, in 64 bits. A rate is in
 * bytes/s, a time in us, data in bytes.
 */
#ifndef FAIRWEIR_RULE_H
#define FAIRWEIR_RULE_H

#include "tcp.h"

/* Upper bound on beliefs (2 Pbit/s): sums of 2^15 of them fit. */
#define RULE_MAX (1ULL << 48)

static __always_inline s64 rule_quantity(u64 x)
{
	return min(x, RULE_MAX);
}

/* Returns the rate of `bytes` per `us`. */
static __always_inline s64 rule_rate(u64 bytes, u32 us)
{
	return rule_quantity(min(bytes, RULE_MAX >> 5) * USEC_PER_SEC / max(us, 1U));
}

/* Returns the data at a rate in `us`. */
static __always_inline s64 rule_data(s64 rate, u32 us)
{
	return rule_quantity((u64)rate / USEC_PER_SEC * us + (u64)rate % USEC_PER_SEC * us / USEC_PER_SEC);
}

/* Returns sum / parts as a rate, at least 0. */
static __always_inline u64 rule_share(s64 sum, u32 parts)
{
	return sum > 0 ? (u64)sum / parts : 0;
}

#endif
