/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * A socket of this host, and its flow.
 */
#ifndef FAIRWEIR_GUARD_SOCKET_H
#define FAIRWEIR_GUARD_SOCKET_H

#include "packet.h"

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} CC_CORE;

struct sock_common___guard {
	u16 skc_family;
	struct in6_addr skc_v6_rcv_saddr;
	struct in6_addr skc_v6_daddr;
} CC_CORE;

#define FAMILY_IPV4 2
#define FAMILY_IPV6 10

/* Returns false for an address family without TCP. The VLAN is a property of the device. */
static __always_inline bool name_socket(struct sock_common *common, struct guard_flow *flow)
{
	struct sock_common___guard *more = (void *)common;
	u16 family = more->skc_family;

	if (family == FAMILY_IPV4) {
		__builtin_memset(flow->local + 10, 0xff, 2);
		__builtin_memset(flow->remote + 10, 0xff, 2);
		*(u32 *)(flow->local + 12) = common->skc_rcv_saddr;
		*(u32 *)(flow->remote + 12) = common->skc_daddr;
	} else if (family == FAMILY_IPV6) {
		bpf_core_read(flow->local, 16, &more->skc_v6_rcv_saddr);
		bpf_core_read(flow->remote, 16, &more->skc_v6_daddr);
	} else {
		return false;
	}
	flow->local_port = common->skc_num;
	flow->remote_port = __builtin_bswap16(common->skc_dport);
	return true;
}

#endif
