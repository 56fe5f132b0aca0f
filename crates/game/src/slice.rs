//! Beliefs (sets of links that explain a window) at a fixed capacity C: everything is a function of I\[0\], the amount
//! served by the window's first point.
//!
//! A\[t\], L\[t\], N\[t\] = A\[t\] - L\[t\] and I\[t\] are the cumulative packets sent, lost, accepted and served by
//! point t; K = C + B. In steps of one rtprop, the link of thesis section 2.3 is N\[t\] = min(N\[t-1\] + A\[t\] -
//! A\[t-1\], I\[t-1\] + K), I\[t\] = min(I\[t-1\] + C, N\[t\]). If the losses are known, so is N, and I\[t\] =
//! min(I\[0\] + C t, m_t) with m_t = min over 1 <= s <= t of N\[s\] + C (t - s). No bound on K increases with I\[0\].
//! The values of I\[0\] for which a K exists are therefore an interval, and its ends give the range of K
//! (docs/formal/game.md).
//!
//! A point whose losses are known is *visible*, otherwise *hidden*.

use crate::model::{EPS, LinkModel, Range};
use crate::window::{POINTS, Window};

/// The links of a fixed C that explain a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Values of I\[0\] with which some buffer explains the window.
    pub served: Range,
    /// Buffers with which some I\[0\] explains the window.
    pub b: Range,
}

/// Returns m_t: the service by point t if the queue was last empty at one of the visible points from 1 to t.
fn chain(w: &Window, c: f64) -> [f64; POINTS] {
    let mut m = [f64::INFINITY; POINTS];
    for t in 1..w.len {
        m[t] = m[t - 1] + c;
        if t < w.visible {
            m[t] = m[t].min(w.accepted(t));
        }
    }
    m
}

/// Returns the range of I\[0\] that the delivered packets allow if the buffer is unknown.
fn without_buffer(w: &Window, model: &LinkModel, c: f64, m: &[f64; POINTS]) -> Option<Range> {
    let s = &w.delivered;
    let mut served = Range::new(s[0], if w.visible > 0 { w.accepted(0) } else { w.sent[0] - w.lost_before });
    // By point k, the link had delivered all that it had served by k - jitter, so I[0] <= S[k] + C (jitter - k). All of
    // these k - jitter but the last precede the window.
    for (k, delivered) in s[..w.len].iter().take(model.jitter + 1).enumerate() {
        served.max = served.max.min(delivered + c * (model.jitter - k) as f64);
    }
    for t in 0..w.len {
        let since = c * t as f64;
        served.min = served.min.max(s[t] - since);
        if m[t] < s[t] - EPS {
            return None;
        }
        // At a hidden point the queue was not empty: otherwise the link would have served more than was delivered at
        // the end.
        if t + model.jitter < w.len && m[t] > s[t + model.jitter] + EPS {
            served.max = served.max.min(s[t + model.jitter] - since);
        }
    }
    settle(served)
}

/// Returns the interval if it is not empty. Ends that cross by at most `EPS` are merged.
fn settle(range: Range) -> Option<Range> {
    if range.min > range.max + EPS { None } else { Some(Range::new(range.min, range.max.max(range.min))) }
}

/// Returns a lower bound of K + I\[t-1\] for t >= 1: N\[t\], or the minimum that a hidden point can have accepted.
fn needed(w: &Window, t: usize) -> f64 {
    if t < w.visible { w.accepted(t) } else { w.delivered_last() }
}

/// Returns the points t >= 1 whose accepted packets bound K from below: the visible points and the first hidden point.
/// A later hidden point adds no bound: the packets known to be accepted are the same, and more was served before it.
fn bounding_points(w: &Window) -> std::ops::Range<usize> {
    1..if w.visible == 0 { 1 } else { (w.visible + 1).min(w.len) }
}

/// Returns whether enough packets were sent for the hidden points, which accepted more than was delivered at the end.
fn hidden_were_sent(w: &Window) -> bool {
    match w.visible {
        0 => w.sent[0] - w.lost_before >= w.delivered_last() - EPS,
        v if v < w.len => w.accepted(v - 1) + w.sent[v] - w.sent[v - 1] >= w.delivered_last() - EPS,
        _ => true,
    }
}

/// N\[0\] if it is known, otherwise the packets delivered by the last point.
fn at_first(w: &Window) -> f64 {
    if w.visible > 0 { w.accepted(0) } else { w.delivered_last() }
}

/// Returns the points at which packets were lost.
fn losses(w: &Window) -> impl Iterator<Item = usize> {
    (1..w.visible.max(1)).filter(|&t| w.has_loss_at(t))
}

/// Values that a window allows at a fixed capacity, for any buffer. All computations about buffers at that capacity
/// start from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtCapacity {
    /// The capacity, packets per step.
    pub c: f64,
    /// m_t for each point.
    chain: [f64; POINTS],
    /// Range of I\[0\] that the delivered packets allow.
    served: Range,
}

/// Returns the range of I\[0\] and of the buffers that explain the window at capacity `c`; `None` if no pair does.
pub fn slice(w: &Window, model: &LinkModel, c: f64) -> Option<Slice> {
    AtCapacity::new(w, model, c)?.slice(w, model)
}

/// Returns the range of I\[0\] that explains the window at capacity `c` and buffer `b`; `None` if it is empty.
pub fn initial_service(w: &Window, model: &LinkModel, c: f64, b: f64) -> Option<Range> {
    AtCapacity::new(w, model, c)?.initial_service(w, model, b)
}

impl AtCapacity {
    /// Returns `None` if the window contradicts capacity `c` for every buffer.
    pub fn new(w: &Window, model: &LinkModel, c: f64) -> Option<AtCapacity> {
        if !hidden_were_sent(w) {
            return None;
        }
        let chain = chain(w, c);
        let served = without_buffer(w, model, c, &chain)?;
        Some(AtCapacity { c, chain, served })
    }

    /// Returns the range of I\[0\] and of the buffers that explain the window; `None` if no pair does. `w` must be the
    /// window from which `self` was computed.
    pub fn slice(&self, w: &Window, model: &LinkModel) -> Option<Slice> {
        let AtCapacity { c, chain: m, served: Range { min: mut lo, max: mut hi } } = *self;
        let (k_min, k_max) = (c + model.b.min, c + model.b.max);
        let first = at_first(w);
        lo = lo.max(first - model.b.max);
        for t in bounding_points(w) {
            let need = needed(w, t) - k_max;
            lo = lo.max(need - c * (t - 1) as f64);
            if m[t - 1] < need - EPS {
                return None;
            }
        }
        for f in losses(w) {
            // I[f-1] <= N[f] - K + slack, for each lower bound of K
            let (mf, since) = (m[f - 1], c * (f - 1) as f64);
            let full = w.accepted(f) + model.slack;
            if mf > full - k_min + EPS {
                hi = hi.min(full - k_min - since);
            }
            let room = full - c - first;
            if since > room + EPS {
                lo = lo.max(mf - room);
            }
            for t in bounding_points(w) {
                let mt = m[t - 1];
                let room = full - needed(w, t);
                if t > f && mf - mt > room + EPS {
                    if c * (f as f64 - t as f64) > room + EPS {
                        return None;
                    }
                    hi = hi.min(room + mt - since);
                }
                if t < f && c * (f - t) as f64 > room + EPS {
                    if mf - mt > room + EPS {
                        return None;
                    }
                    lo = lo.max(mf - room - c * (t - 1) as f64);
                }
            }
        }
        let served = settle(Range::new(lo, hi))?;
        let by = |t: usize, i0: f64| (i0 + c * t as f64).min(m[t]);
        let mut b = Range::new(model.b.min.max(first - served.max), model.b.max);
        for t in bounding_points(w) {
            b.min = b.min.max(needed(w, t) - by(t - 1, served.max) - c);
        }
        for f in losses(w) {
            b.max = b.max.min(w.accepted(f) + model.slack - by(f - 1, served.min) - c);
        }
        Some(Slice { served, b: Range::new(b.min.min(model.b.max), b.max.max(b.min.min(model.b.max))) })
    }

    /// Returns the range of I\[0\] that explains the window at buffer `b`; `None` if it is empty.
    pub fn initial_service(&self, w: &Window, model: &LinkModel, b: f64) -> Option<Range> {
        let AtCapacity { c, chain: m, served: Range { min: mut lo, max: mut hi } } = *self;
        let k = c + b;
        lo = lo.max(at_first(w) - b);
        for t in bounding_points(w) {
            let need = needed(w, t) - k;
            lo = lo.max(need - c * (t - 1) as f64);
            if m[t - 1] < need - EPS {
                return None;
            }
        }
        for f in losses(w) {
            let full = w.accepted(f) + model.slack - k;
            if m[f - 1] > full + EPS {
                hi = hi.min(full - c * (f - 1) as f64);
            }
        }
        settle(Range::new(lo, hi))
    }
}
