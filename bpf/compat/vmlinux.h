/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * For sources written against the kernel's own headers: the parts of vmlinux.h, libbpf's headers and the kernel's BPF
 * self-tests that a CCA needs. libbpf's headers are for the native build; clang uses the real ones. Other maps and
 * helpers are missing, which the linker reports.
 */
#ifndef FAIRWEIR_COMPAT_VMLINUX_H
#define FAIRWEIR_COMPAT_VMLINUX_H

#include "tcp.h"

#ifdef __bpf__

/* clang uses libbpf's real headers; the kernel's types are those of core.h, its functions those of tcp.h. */
#ifdef CC_RECORD
#error "hooks are recorded of sources that include tcp.h, whose clocks and random numbers can be"
#endif
#undef __ksym
#define __ksym
#define tcp_jiffies32 ((u32)bpf_jiffies64())

#else

#define __ksym
#define __kconfig
#define __weak __attribute__((weak))
#undef __noinline
#define __noinline __attribute__((noinline))
#define barrier() asm volatile("" ::: "memory")

#define BPF_CORE_READ(p, field) ((p)->field)
#define BPF_CORE_READ_BITFIELD(p, field) ((p)->field)
#define BPF_PROBE_READ(p, field) ((p)->field)
#define bpf_core_field_exists(field) 1
#define bpf_printk(...) 0

/* Helpers without a socket argument refer to the flow whose hook is running on this thread, set by the native
 * interface. */
static __thread struct sock *cc_current;

__attribute__((used)) void cc_enter(struct sock *sk);
void cc_enter(struct sock *sk)
{
	cc_current = sk;
}

static __always_inline u64 bpf_ktime_get_ns(void)
{
	return cc_now_ns(cc_current);
}

static __always_inline u64 bpf_ktime_get_boot_ns(void)
{
	return cc_now_ns(cc_current);
}

static __always_inline u64 bpf_ktime_get_tai_ns(void)
{
	return cc_wall_ns(cc_current);
}

static __always_inline u32 bpf_get_prandom_u32(void)
{
	return cc_rand(cc_current);
}

/* A jiffy is a millisecond here. */
static unsigned long CONFIG_HZ __attribute__((unused)) = 1000;

static __always_inline u64 bpf_jiffies64(void)
{
	return cc_now_ns(cc_current) / 1000000;
}

#define tcp_jiffies32 ((u32)bpf_jiffies64())

#endif
#endif
