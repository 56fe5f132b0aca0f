//! Fast bounds of a belief (the set of the links that explain a window), and its *corners*: the links at the ends of
//! its ranges of C and B. Both take about a microsecond.
//!
//! The search for an action uses them. They are not sound, so claims and the shield use [`crate::bounds_exact`]: C's
//! bounds are exact, but those of B, of the queue q and of the safe rate (minimum of C + B - q) are computed at the
//! smallest and the largest C only. Capacities in between can have wider bounds, so in about 1 % of windows the true
//! link violates these bounds (docs/formal/game.md).
//!
//! A\[t\], S\[t\], N\[t\] and I\[t\] are the cumulative packets sent, delivered, accepted by the queue, and served, by
//! point t.

use crate::bounds::Bounds;
use crate::bounds_exact::exact_c;
use crate::model::{EPS, LinkModel, Range};
use crate::replay::{Trajectory, trajectories_from};
use crate::slice::{AtCapacity, slice};
use crate::window::Window;

/// A link of the belief.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Capacity, in packets per step.
    pub c: f64,
    /// Buffer, in packets.
    pub b: f64,
}

/// Up to four links: the smallest and the largest B at each end of C's range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corners {
    paths: [Path; 4],
    /// For each link, the values of I\[0\] that the window allows at the link's capacity.
    at: [Option<AtCapacity>; 4],
    len: usize,
}

impl std::ops::Deref for Corners {
    type Target = [Path];
    fn deref(&self) -> &[Path] {
        &self.paths[..self.len]
    }
}

impl Corners {
    /// Returns every corner that explains `w`, with its buffer (adjusted for rounding) and its two extreme
    /// trajectories: the one with the longest queue, then the one with the shortest. `self` must be the corners of `w`.
    pub(crate) fn trajectories(
        &self,
        w: &Window,
        model: &LinkModel,
    ) -> impl Iterator<Item = (Path, f64, [Trajectory; 2])> {
        self.iter().zip(&self.at).filter_map(|(path, at)| {
            let (b, trajectories) = path.trajectories_at(at.as_ref()?, w, model)?;
            Some((*path, b, trajectories))
        })
    }
}

/// Two corners closer than this are merged.
const SAME: f64 = 1e-3;

/// A window with its bounds of C. At the root of a search it limits all later beliefs: the network moves only on links
/// that the root's window allows too.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    window: Window,
    c: Range,
}

impl Within {
    /// Returns `window` with its bounds; `None` if no link of the model explains it.
    pub fn of(window: &Window, model: &LinkModel) -> Option<Within> {
        Some(Within { window: *window, c: c_range(window, model)? })
    }
}

/// Bounds of C for an unknown buffer, in closed form.
fn c_without_buffer(w: &Window, model: &LinkModel) -> Range {
    let s = &w.delivered[..w.len];
    let (mut lo, mut hi) = (model.c.min, model.c.max);
    let jitter = model.jitter;
    // Quotients with the same divisor are compared by their dividends.
    let largest = |dividends: &mut dyn Iterator<Item = f64>| dividends.fold(f64::NEG_INFINITY, f64::max);
    // Packets delivered between points k and t were served between k - jitter and t.
    for n in 0..w.len {
        lo = lo.max(largest(&mut (n..w.len).map(|t| s[t] - s[t - n])) / (n + jitter) as f64);
    }
    // By t, the link delivered S[t] - N[u] packets more than were accepted by u, all of them served after u.
    let visible = w.visible.min(w.len);
    for n in 1..w.len {
        let ends = n..w.len.min(visible + n);
        lo = lo.max(largest(&mut ends.map(|t| s[t] - w.accepted(t - n))) / n as f64);
    }
    // S[u + jitter] contains all that was served by u. Either the link was busy from t to u and served C (u - t), or
    // its queue was last empty at some e < u, and it has served C (u - e) since.
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
    // If packets were lost at u, the buffer was full (but for `slack`), so as much as was accepted after u was also
    // served.
    for u in 1..w.visible.max(1) {
        if w.has_loss_at(u) {
            for t in u + 1..w.visible {
                lo = lo.max((w.accepted(t) - w.accepted(u) - model.slack) / (t - u) as f64);
            }
        }
    }
    Range::new(lo, hi)
}

/// An end of C's range, with the values that the window allows there.
#[derive(Clone, Copy, Debug)]
struct End {
    at: AtCapacity,
    /// Possible buffers at that capacity.
    b: Range,
}

impl End {
    fn new(w: &Window, model: &LinkModel, c: f64) -> Option<End> {
        let at = AtCapacity::new(w, model, c)?;
        Some(End { at, b: at.slice(w, model)?.b })
    }
}

/// Returns the smallest and the largest C of the links that explain the window, exactly; `None` if no link does.
pub fn c_range(w: &Window, model: &LinkModel) -> Option<Range> {
    Ends::new(w, model).map(|ends| ends.c)
}

/// The exact range of C, with the values that a window allows at both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    c: Range,
    /// `None` if rounding leaves no link at that end.
    both: [Option<End>; 2],
}

impl Ends {
    /// Returns `None` if no link explains the window.
    pub(crate) fn new(w: &Window, model: &LinkModel) -> Option<Ends> {
        let Range { min: lo, max: hi } = c_without_buffer(w, model);
        if lo > hi + EPS {
            return None;
        }
        let hi = hi.max(lo);
        if let Some(min) = End::new(w, model, lo) {
            let max = if hi == lo { Some(min) } else { End::new(w, model, hi) };
            if max.is_some() {
                return Some(Ends { c: Range::new(lo, hi), both: [Some(min), max] });
            }
        }
        let c = exact_c(w, model)?;
        Some(Ends { c, both: [c.min, c.max].map(|c| End::new(w, model, c)) })
    }

    /// Returns the corners of the links that the window allows.
    pub(crate) fn corners(&self) -> Corners {
        let mut both = self.both.into_iter();
        at_ends(self.c, |_| both.next()?)
    }

    /// Returns the corners of the links that both the window `w` and `root` allow; if the two are disjoint, those that
    /// `w` allows. `self` must be the ends of `w`.
    pub(crate) fn corners_within(&self, w: &Window, model: &LinkModel, root: &Within) -> Corners {
        let both = Range::new(self.c.min.max(root.c.min), self.c.max.min(root.c.max));
        if both.min > both.max + EPS {
            return self.corners();
        }
        let found = at_ends(Range::new(both.min, both.max.max(both.min)), |c| {
            let own = match self.both.iter().flatten().find(|end| end.at.c == c) {
                Some(end) => *end,
                None => End::new(w, model, c)?,
            };
            let root = slice(&root.window, model, c)?.b;
            let b = Range::new(root.min.max(own.b.min), root.max.min(own.b.max));
            (b.min <= b.max + SAME).then(|| End { b: Range::new(b.min.min(b.max), b.max), ..own })
        });
        if found.len > 0 { found } else { self.corners() }
    }
}

/// Returns the corners of the links that both the window and `within` allow; if the two are disjoint, those that the
/// window allows. `None` if no link explains the window.
pub fn corners(w: &Window, model: &LinkModel, within: Option<&Within>) -> Option<Corners> {
    let ends = Ends::new(w, model)?;
    let found = within.map_or_else(|| ends.corners(), |root| ends.corners_within(w, model, root));
    (found.len > 0).then_some(found)
}

/// Returns the corners at both ends of `c`. `end_at` is called with the smaller capacity, and then with the larger if
/// it differs.
fn at_ends(c: Range, mut end_at: impl FnMut(f64) -> Option<End>) -> Corners {
    let mut found = Corners { paths: [Path { c: 0.0, b: 0.0 }; 4], at: [None; 4], len: 0 };
    let mut add = |at: AtCapacity, b: f64| {
        found.paths[found.len] = Path { c: at.c, b };
        found.at[found.len] = Some(at);
        found.len += 1;
    };
    for (i, c_end) in [c.min, c.max].into_iter().enumerate() {
        if i == 1 && c.width() < SAME {
            break;
        }
        if let Some(End { at, b }) = end_at(c_end) {
            add(at, b.min);
            if b.width() > SAME {
                add(at, b.max);
            }
        }
    }
    found
}

impl Path {
    /// Returns this link's two extreme trajectories: the one with the longest queue, then the one with the shortest.
    /// `None` if the link does not explain the window, even with a buffer that differs by a rounding error.
    pub fn trajectories(&self, w: &Window, model: &LinkModel) -> Option<[Trajectory; 2]> {
        let at = AtCapacity::new(w, model, self.c)?;
        self.trajectories_at(&at, w, model).map(|(_, trajectories)| trajectories)
    }

    /// Like [`Path::trajectories`], but also returns the adjusted buffer. `at` must be the values that the window
    /// allows at the link's capacity.
    pub(crate) fn trajectories_at(
        &self,
        at: &AtCapacity,
        w: &Window,
        model: &LinkModel,
    ) -> Option<(f64, [Trajectory; 2])> {
        for b in [self.b, self.b + 10.0 * EPS, (self.b - 10.0 * EPS).max(model.b.min)] {
            if let Some(served) = at.initial_service(w, model, b) {
                return Some((b, trajectories_from(w, self.c, b, served)));
            }
        }
        None
    }
}

/// Returns the bounds over the corners of the belief.
pub fn fast_bounds(w: &Window, model: &LinkModel) -> Option<Bounds> {
    let ends = Ends::new(w, model)?;
    let corners = ends.corners();
    let links = corners.trajectories(w, model).map(|(path, _, trajectories)| (path, trajectories));
    Some(Bounds { c: ends.c, ..bounds_of(model, links)? })
}

/// Returns the bounds over those of the links `paths` that explain `w`.
pub fn bounds_at(w: &Window, model: &LinkModel, paths: &[Path]) -> Option<Bounds> {
    bounds_of(model, paths.iter().filter_map(|path| Some((*path, path.trajectories(w, model)?))))
}

fn bounds_of(model: &LinkModel, links: impl Iterator<Item = (Path, [Trajectory; 2])>) -> Option<Bounds> {
    let none = Range::new(f64::INFINITY, f64::NEG_INFINITY);
    let mut all = Bounds { c: none, b: none, q: none, safe_rate: f64::INFINITY, min_c_plus_b: f64::INFINITY };
    for (path, [longest, shortest]) in links {
        let q = Range::new(shortest.queue_next(), longest.queue_next());
        all.c = Range::new(all.c.min.min(path.c), all.c.max.max(path.c));
        all.b = Range::new(all.b.min.min(path.b), all.b.max.max(path.b));
        all.q = Range::new(all.q.min.min(q.min), all.q.max.max(q.max));
        all.safe_rate = all.safe_rate.min(path.c + path.b - q.max - model.slack);
        all.min_c_plus_b = all.min_c_plus_b.min(path.c + path.b);
    }
    (all.c.min <= all.c.max).then_some(all)
}
