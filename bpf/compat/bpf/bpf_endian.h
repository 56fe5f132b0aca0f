/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef FAIRWEIR_COMPAT_BPF_ENDIAN_H
#define FAIRWEIR_COMPAT_BPF_ENDIAN_H
#include "vmlinux.h"
#endif
