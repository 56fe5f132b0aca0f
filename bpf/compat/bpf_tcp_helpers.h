/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef FAIRWEIR_COMPAT_BPF_TCP_HELPERS_H
#define FAIRWEIR_COMPAT_BPF_TCP_HELPERS_H
#include "vmlinux.h"
#endif
