//! Bounds and links at the corners of a belief, in about a microsecond: for the search, not for claims.
//!
//! C's ends are exact. Those of B, of the queue and of the safe rate are taken at C's ends only; between them they can be
//! further out, so that the true link is outside in about one window of a hundred (docs/formal/game.md).

use serde::Serialize;

use crate::bounds_exact::exact_c;
use crate::model::{EPS, LinkModel, Range};
use crate::replay::{Trajectory, trajectories_from};
use crate::slice::{initial_service, slice};
use crate::window::Window;

/// Bounds of a belief.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Capacity, in packets a step.
    pub c: Range,
    /// Buffer, in packets.
    pub b: Range,
    /// Queue at the next point, in packets.
    pub q: Range,
    /// Maximum that can be sent in the step after the next point without loss: min of C + B - q, less the model's
    /// slack, in packets.
    pub safe_rate: f64,
    /// Min of C + B, in packets.
    pub min_c_plus_b: f64,
}

/// A link of the belief.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Capacity, in packets a step.
    pub c: f64,
    /// Buffer, in packets.
    pub b: f64,
}

/// Up to four links: C at both ends, B at both ends for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corners {
    paths: [Path; 4],
    len: usize,
}

impl std::ops::Deref for Corners {
    type Target = [Path];
    fn deref(&self) -> &[Path] {
        &self.paths[..self.len]
    }
}

/// Two ends closer than this are one corner.
const SAME: f64 = 1e-3;

/// A window with what it says of C: the belief at the root of a search, within which later ones stay.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    window: Window,
    c: Range,
}

impl Within {
    /// The belief of `window`; `None` if nothing explains it.
    pub fn of(window: &Window, model: &LinkModel) -> Option<Within> {
        Some(Within { window: *window, c: c_range(window, model)? })
    }
}

/// C's bounds without knowledge of the buffer, in closed form.
fn c_without_buffer(w: &Window, model: &LinkModel) -> Range {
    let s = &w.delivered[..w.len];
    let (mut lo, mut hi) = (model.c.min, model.c.max);
    let jitter = model.jitter;
    // What was delivered at most from k to t was served from k - jitter to t.
    for k in 0..w.len {
        for t in k..w.len {
            lo = lo.max((s[t] - s[k]) / (t + jitter - k) as f64);
        }
    }
    for u in 0..w.visible.min(w.len) {
        for (steps, delivered) in s[u..].iter().enumerate().skip(1) {
            lo = lo.max((delivered - w.accepted(u)) / steps as f64);
        }
    }
    // Busy from t to u the link served C (u - t), unless the queue was empty in between.
    for u in 1..w.len.saturating_sub(jitter) {
        let delivered = s[u + jitter];
        if u < w.visible && w.accepted(u) <= delivered + EPS {
            continue;
        }
        let mut emptied = f64::NEG_INFINITY;
        for e in 1..u.min(w.visible) {
            emptied = emptied.max((delivered - w.accepted(e)) / (u - e) as f64);
        }
        let mut busy = f64::INFINITY;
        for (t, before) in s[..u].iter().enumerate() {
            busy = busy.min((delivered - before) / (u - t) as f64);
        }
        hi = hi.min(emptied.max(busy));
    }
    // From a loss at u the buffer is full: data accepted later must have been served since.
    for u in 1..w.visible.max(1) {
        if w.has_loss_at(u) {
            for t in u + 1..w.visible {
                lo = lo.max((w.accepted(t) - w.accepted(u) - model.slack) / (t - u) as f64);
            }
        }
    }
    Range::new(lo, hi)
}

/// C's exact range (outer ends); `None` if nothing explains the window.
pub fn c_range(w: &Window, model: &LinkModel) -> Option<Range> {
    let Range { min: lo, max: hi } = c_without_buffer(w, model);
    if lo > hi + EPS {
        return None;
    }
    let hi = hi.max(lo);
    let fits = |c: f64| slice(w, model, c).is_some();
    if fits(lo) && fits(hi) { Some(Range::new(lo, hi)) } else { exact_c(w, model) }
}

/// The corners of what the window allows, and of what `within` allows as well if they agree; if they do not, the window
/// alone counts. `None` if nothing explains the window.
pub fn corners(w: &Window, model: &LinkModel, within: Option<&Within>) -> Option<Corners> {
    let own = c_range(w, model)?;
    if let Some(root) = within {
        let both = Range::new(own.min.max(root.c.min), own.max.min(root.c.max));
        if both.min <= both.max + EPS {
            let both = Range::new(both.min, both.max.max(both.min));
            let found = at_ends(both, |c| {
                let (root, own) = (slice(&root.window, model, c)?.b, slice(w, model, c)?.b);
                let b = Range::new(root.min.max(own.min), root.max.min(own.max));
                (b.min <= b.max + SAME).then(|| Range::new(b.min.min(b.max), b.max))
            });
            if found.len > 0 {
                return Some(found);
            }
        }
    }
    let found = at_ends(own, |c| slice(w, model, c).map(|slice| slice.b));
    (found.len > 0).then_some(found)
}

fn at_ends(c: Range, b_at: impl Fn(f64) -> Option<Range>) -> Corners {
    let mut found = Corners { paths: [Path { c: 0.0, b: 0.0 }; 4], len: 0 };
    let mut add = |c: f64, b: f64| {
        found.paths[found.len] = Path { c, b };
        found.len += 1;
    };
    for (i, c_end) in [c.min, c.max].into_iter().enumerate() {
        if i == 1 && c.width() < SAME {
            break;
        }
        if let Some(b) = b_at(c_end) {
            add(c_end, b.min);
            if b.width() > SAME {
                add(c_end, b.max);
            }
        }
    }
    found
}

impl Path {
    /// The extreme trajectories of this link, longest queue first; `None` if it does not explain the window, even with a
    /// buffer that differs by rounding.
    pub fn trajectories(&self, w: &Window, model: &LinkModel) -> Option<[Trajectory; 2]> {
        for b in [self.b, self.b + 10.0 * EPS, (self.b - 10.0 * EPS).max(model.b.min)] {
            if let Some(served) = initial_service(w, model, self.c, b) {
                return Some(trajectories_from(w, self.c, b, served));
            }
        }
        None
    }
}

/// Bounds from the corners only: for the search.
pub fn fast_bounds(w: &Window, model: &LinkModel) -> Option<Bounds> {
    let c = c_range(w, model)?;
    let paths = at_ends(c, |c| slice(w, model, c).map(|slice| slice.b));
    Some(Bounds { c, ..bounds_at(w, model, &paths)? })
}

/// Bounds over the given links of the belief of `w`.
pub fn bounds_at(w: &Window, model: &LinkModel, paths: &[Path]) -> Option<Bounds> {
    let none = Range::new(f64::INFINITY, f64::NEG_INFINITY);
    let mut all = Bounds { c: none, b: none, q: none, safe_rate: f64::INFINITY, min_c_plus_b: f64::INFINITY };
    for path in paths {
        let Some([longest, shortest]) = path.trajectories(w, model) else { continue };
        let q = Range::new(shortest.queue_next(), longest.queue_next());
        all.c = Range::new(all.c.min.min(path.c), all.c.max.max(path.c));
        all.b = Range::new(all.b.min.min(path.b), all.b.max.max(path.b));
        all.q = Range::new(all.q.min.min(q.min), all.q.max.max(q.max));
        all.safe_rate = all.safe_rate.min(path.c + path.b - q.max - model.slack);
        all.min_c_plus_b = all.min_c_plus_b.min(path.c + path.b);
    }
    (all.c.min <= all.c.max).then_some(all)
}
