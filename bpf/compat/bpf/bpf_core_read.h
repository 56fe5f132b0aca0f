/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef FAIRWEIR_COMPAT_BPF_CORE_READ_H
#define FAIRWEIR_COMPAT_BPF_CORE_READ_H
#include "vmlinux.h"
#endif
