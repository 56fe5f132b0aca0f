/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Minimum over a sliding window of time, in constant space (Nichols' estimator, as in the kernel's win_minmax). Stores
 * the best three samples in order of age; the first is the result. When it expires, the next sample, which is the
 * minimum of a later part of the window, replaces it. The result is therefore never older than the window, but may
 * temporarily exceed the true minimum.
 */
#ifndef FAIRWEIR_WINDOW_MIN_H
#define FAIRWEIR_WINDOW_MIN_H

#include "tcp.h"

struct window_sample {
	u32 t; /* wraps */
	u32 v;
};

struct window_min {
	struct window_sample s[3];
};

static __always_inline void window_min_reset(struct window_min *w, u32 t, u32 v)
{
	w->s[0] = w->s[1] = w->s[2] = (struct window_sample){.t = t, .v = v};
}

/* Adds `v` at `t` and returns the minimum of the last `window`. */
static __always_inline u32 window_min_update(struct window_min *w, u32 window, u32 t, u32 v)
{
	struct window_sample sample = {.t = t, .v = v};
	u32 age;

	if (v <= w->s[0].v || t - w->s[2].t > window) {
		window_min_reset(w, t, v);
		return v;
	}
	if (v <= w->s[1].v)
		w->s[1] = w->s[2] = sample;
	else if (v <= w->s[2].v)
		w->s[2] = sample;

	age = t - w->s[0].t;
	if (age > window) {
		w->s[0] = w->s[1];
		w->s[1] = w->s[2];
		w->s[2] = sample;
		if (t - w->s[0].t > window) {
			w->s[0] = w->s[1];
			w->s[1] = sample;
		}
	} else if (w->s[1].t == w->s[0].t && age > window / 4) {
		/* a quarter has passed without a second choice: take one from here on */
		w->s[1] = w->s[2] = sample;
	} else if (w->s[2].t == w->s[1].t && age > window / 2) {
		w->s[2] = sample;
	}
	return w->s[0].v;
}

#endif
