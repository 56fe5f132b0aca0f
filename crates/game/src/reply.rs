//! The network's moves: possible observations at the next point on a link of the belief.
//!
//! A move is played on one link: C and B at a corner of what both the root's window and the current one allow, I\[0\] at one
//! end, S at one end. So all losses of a move fit together, and at most 16 moves, mostly 2 to 8, remain without duplicates.
//!
//! Packets sent now arrive one point later, so moves and most of the belief after them do not depend on the
//! controller's action: a [`Branch`] is computed once for all actions.

use crate::bounds_fast::{Bounds, Path, Within, corners};
use crate::model::{EPS, LinkModel, Range};
use crate::replay::Trajectory;
use crate::window::{Observation, Window};

/// The maximum number of moves: 4 corners, 2 ends of I\[0\], 2 of S.
pub const MAX_REPLIES: usize = 16;

/// Observations that differ by less are one, packets.
const SAME: f64 = 1e-3;

/// A move of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reply {
    /// What the sender observes.
    pub observed: Observation,
    /// Capacity of the link that it is played on, packets per step.
    pub c: f64,
    /// Its buffer, packets.
    pub b: f64,
    /// Its queue at the new point, packets.
    pub queue: f64,
}

/// Moves in a list without allocation.
#[derive(Debug, Clone, Copy)]
pub struct Replies {
    all: [Reply; MAX_REPLIES],
    len: usize,
}

impl std::ops::Deref for Replies {
    type Target = [Reply];
    fn deref(&self) -> &[Reply] {
        &self.all[..self.len]
    }
}

impl Replies {
    fn new() -> Replies {
        let observed = Observation { delivered: 0.0, visible: 0, lost: [0.0; crate::POINTS + 1] };
        Replies { all: [Reply { observed, c: 0.0, b: 0.0, queue: 0.0 }; MAX_REPLIES], len: 0 }
    }

    fn add(&mut self, reply: Reply) {
        let new = &reply.observed;
        let is_known = self.iter().any(|r| {
            let old = &r.observed;
            (old.delivered - new.delivered).abs() < SAME
                && old.visible == new.visible
                && old.lost[..old.visible].iter().zip(&new.lost).all(|(a, b)| (a - b).abs() < SAME)
        });
        if !is_known && self.len < MAX_REPLIES {
            self.all[self.len] = reply;
            self.len += 1;
        }
    }
}

/// A link of the belief with its two extreme trajectories up to the window's last point.
#[derive(Debug, Clone, Copy)]
struct Ends {
    c: f64,
    b: f64,
    /// Longest queue first.
    trajectories: [Trajectory; 2],
}

/// Up to four links.
#[derive(Debug, Clone, Copy)]
struct Links {
    all: [Ends; 4],
    len: usize,
}

impl Links {
    fn none(len: usize) -> Links {
        let zero = Trajectory { accepted: [0.0; crate::POINTS + 1], served: [0.0; crate::POINTS + 1], len };
        Links { all: [Ends { c: 0.0, b: 0.0, trajectories: [zero; 2] }; 4], len: 0 }
    }

    fn of(w: &Window, model: &LinkModel, within: Option<&Within>) -> Option<Links> {
        let mut links = Links::none(w.len);
        for path in corners(w, model, within)?.iter() {
            links.add(path, w, model);
        }
        (links.len > 0).then_some(links)
    }

    /// One link that is known to explain the window.
    fn one(path: &Path, w: &Window, model: &LinkModel) -> Option<Links> {
        let mut links = Links::none(w.len);
        links.add(path, w, model);
        (links.len > 0).then_some(links)
    }

    fn add(&mut self, path: &Path, w: &Window, model: &LinkModel) {
        if let Some(trajectories) = path.trajectories(w, model) {
            self.all[self.len] = Ends { c: path.c, b: path.b, trajectories };
            self.len += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Ends> {
        self.all[..self.len].iter()
    }
}

/// Successors of a window whose next arrivals are not chosen yet.
#[derive(Debug, Clone, Copy)]
pub struct Branch {
    /// The window; `sent_next` is without what is sent in the step that led here.
    window: Window,
    /// Links of the window's own belief.
    own: Links,
}

/// Data accepted and served at the next point when `rate` arrives there.
#[inline]
fn next_point(t: &Trajectory, c: f64, b: f64, rate: f64) -> (f64, f64) {
    let last = t.len - 1;
    let accepted = (t.accepted[last] + rate).min(t.served[last] + c + b);
    (accepted, (t.served[last] + c).min(accepted))
}

impl Branch {
    /// Work out what `window` allows; `None` if nothing explains it. What reaches the queue by the next point is
    /// `window.sent_next` without `arriving`, which [`Branch::bounds`] and [`Branch::replies`] take.
    pub fn new(window: Window, model: &LinkModel) -> Option<Branch> {
        let own = Links::of(&window, model, None)?;
        Some(Branch { window, own })
    }

    /// The window when `arriving` packets reach the queue by the next point.
    pub fn window(&self, arriving: f64) -> Window {
        Window { sent_next: self.window.sent[self.window.len - 1] + arriving, ..self.window }
    }

    /// Bounds at the corners when `arriving` packets reach the queue by the next point.
    pub fn bounds(&self, arriving: f64) -> Bounds {
        let none = Range::new(f64::INFINITY, f64::NEG_INFINITY);
        let mut all = Bounds { c: none, b: none, q: none, safe_rate: f64::INFINITY, min_c_plus_b: f64::INFINITY };
        for ends in self.own.iter() {
            let queue = ends.trajectories.each_ref().map(|t| {
                let (accepted, served) = next_point(t, ends.c, ends.b, arriving);
                (accepted - served).max(0.0)
            });
            all.c = Range::new(all.c.min.min(ends.c), all.c.max.max(ends.c));
            all.b = Range::new(all.b.min.min(ends.b), all.b.max.max(ends.b));
            all.q = Range::new(all.q.min.min(queue[1]), all.q.max.max(queue[0]));
            all.safe_rate = all.safe_rate.min(ends.c + ends.b - queue[0]);
            all.min_c_plus_b = all.min_c_plus_b.min(ends.c + ends.b);
        }
        all
    }

    /// Return the network's moves when `arriving` packets reach the queue by the next point, on links that `within` allows.
    pub fn replies(&self, model: &LinkModel, within: &Within, arriving: f64) -> Replies {
        let mut replies = Replies::new();
        let w = self.window(arriving);
        let own = || {
            let mut links = Links::none(w.len);
            self.own.iter().for_each(|l| links.add(&Path { c: l.c, b: l.b }, &w, model));
            links
        };
        let links = Links::of(&w, model, Some(within)).unwrap_or_else(own);
        let len = w.len;
        for Ends { c, b, trajectories: [longest, shortest] } in links.iter() {
            let late = c * (model.jitter as f64 - 1.0);
            let earliest = |t: &Trajectory| t.served[len - 1] - late;
            let slowest = w.delivered_last().max(earliest(longest));
            let fastest = shortest.served[len].max(slowest);
            for (i, delivered) in [slowest, fastest].into_iter().enumerate() {
                if i == 1 && fastest - slowest < SAME {
                    break;
                }
                for (j, t) in [longest, shortest].into_iter().enumerate() {
                    let may = earliest(t) <= delivered + EPS && delivered <= t.served[len] + EPS;
                    if i == j || may {
                        let observed = w.observe(t, delivered);
                        replies.add(Reply { observed, c: *c, b: *b, queue: t.queue(len) });
                    }
                }
            }
        }
        replies
    }

    /// Return what the window allows after `reply`, before the next action; `None` if nothing explains it, as rounding may
    /// have it at the extremes.
    pub fn after(&self, model: &LinkModel, arriving: f64, reply: &Reply) -> Option<Branch> {
        let mut window = self.window(arriving);
        window.slide(&reply.observed, 0.0);
        // Losses can narrow C so much that the search for its range misses it; the link of the move is in it.
        Branch::new(window, model).or_else(|| {
            let own = Links::one(&Path { c: reply.c, b: reply.b }, &window, model)?;
            Some(Branch { window, own })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds_fast::fast_bounds;
    use crate::link::random_window;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn bounds_of_a_branch_are_those_of_its_window() {
        let (model, random) = (LinkModel::default(), &mut ChaCha8Rng::seed_from_u64(5));
        for _ in 0..300 {
            let (_, window) = random_window(&model, random);
            let Some(bounds) = fast_bounds(&window, &model) else { continue };
            let branch = Branch::new(Window { sent_next: 0.0, ..window }, &model).unwrap();
            let arriving = window.sent_next - window.sent[window.len - 1];
            let own = branch.bounds(arriving);
            for (a, b) in [
                (own.c.min, bounds.c.min),
                (own.c.max, bounds.c.max),
                (own.b.min, bounds.b.min),
                (own.b.max, bounds.b.max),
                (own.q.min, bounds.q.min),
                (own.q.max, bounds.q.max),
                (own.safe_rate, bounds.safe_rate),
                (own.min_c_plus_b, bounds.min_c_plus_b),
            ] {
                assert!((a - b).abs() < 1e-9, "{own:?} {bounds:?}");
            }
        }
    }

    #[test]
    fn moves_are_few_consistent_and_explained() {
        let (model, random) = (LinkModel::default(), &mut ChaCha8Rng::seed_from_u64(6));
        let (mut most, mut sum, mut seen) = (0, 0, 0);
        for _ in 0..400 {
            let (_, window) = random_window(&model, random);
            let Some(within) = Within::of(&window, &model) else { continue };
            let Some(branch) = Branch::new(window, &model) else { continue };
            let arriving = window.sent_next - window.sent[window.len - 1];
            let replies = branch.replies(&model, &within, arriving);
            assert!(!replies.is_empty());
            (most, sum, seen) = (most.max(replies.len()), sum + replies.len(), seen + 1);
            for r in replies.iter() {
                let new = &r.observed;
                assert!(new.delivered + EPS >= window.delivered_last());
                let lost = &new.lost[..new.visible];
                assert!(lost.windows(2).all(|l| l[0] <= l[1] + EPS) && new.visible >= window.visible);
                assert!(branch.after(&model, arriving, r).is_some(), "{window:?} {r:?}");
            }
        }
        assert!(seen > 390 && most <= 12 && sum < 6 * seen, "{seen} {most} {sum}");
    }
}
