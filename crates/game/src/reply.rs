//! The network's moves: possible observations at the next point, on links of the belief.
//!
//! N\[t\], I\[t\] and S\[t\] are the cumulative packets accepted by the queue, served, and delivered by point t. Each
//! move is played on one link, so its losses are consistent. The link's C and B are at a corner of what both the root's
//! window and the current window allow, I\[0\] is at one end of its range, and S at the next point is at one end of its
//! range. At most 16 moves remain after duplicates are removed, usually 2 to 8.
//!
//! Packets sent now arrive one point later, so the moves, and most of the belief after them, do not depend on the
//! controller's next action. A [`Branch`] is therefore computed once for all actions.

use crate::bounds::Bounds;
use crate::bounds_fast::{Ends, Path, Within};
use crate::model::{EPS, LinkModel, Range};
use crate::replay::Trajectory;
use crate::slice::AtCapacity;
use crate::window::{Observation, Window};
use std::cell::OnceCell;

/// The maximum number of moves: 4 corners, 2 ends of I\[0\], 2 ends of S.
pub const MAX_REPLIES: usize = 16;

/// Observations that differ by less are considered equal, packets.
const SAME: f64 = 1e-3;

/// A move of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reply {
    /// The sender's observation.
    pub observed: Observation,
    /// Capacity of the link on which the move is played, packets per step.
    pub c: f64,
    /// Buffer of that link, packets.
    pub b: f64,
    /// Queue of that link at the new point, packets.
    pub queue: f64,
}

/// A list of moves without heap allocation.
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

/// A link of the belief with its two extreme trajectories (longest and shortest queue) up to the window's last point.
#[derive(Debug, Clone, Copy)]
struct Mover {
    path: Path,
    /// The buffer of the trajectories: that of the link, adjusted for rounding.
    b: f64,
    /// The two trajectories, longest queue first.
    trajectories: [Trajectory; 2],
}

impl Mover {
    /// Returns `None` if the link does not explain the window.
    fn of(path: Path, w: &Window, model: &LinkModel) -> Option<Mover> {
        let at = AtCapacity::new(w, model, path.c)?;
        let (b, trajectories) = path.trajectories_at(&at, w, model)?;
        Some(Mover { path, b, trajectories })
    }
}

/// A link of the belief, with the amounts that its two extreme trajectories have accepted and served at the window's
/// last point.
#[derive(Debug, Clone, Copy)]
struct Last {
    path: Path,
    /// N and I, longest queue first.
    accepted_served: [(f64, f64); 2],
}

impl Last {
    fn of(path: Path, trajectories: &[Trajectory; 2]) -> Last {
        let accepted_served = trajectories.each_ref().map(|t| (t.accepted[t.len - 1], t.served[t.len - 1]));
        Last { path, accepted_served }
    }

    /// Returns the queues of both trajectories at the next point if `arriving` packets reach the link by then.
    #[inline]
    fn queues(&self, arriving: f64) -> [f64; 2] {
        let Path { c, b } = self.path;
        self.accepted_served.map(|(accepted, served)| {
            let accepted = (accepted + arriving).min(served + c + b);
            (accepted - (served + c).min(accepted)).max(0.0)
        })
    }
}

/// At most four links.
type Links<T> = [Option<T>; 4];

/// Return the first four items, or `None` if there is no item.
fn links<T: Copy>(all: impl Iterator<Item = T>) -> Option<Links<T>> {
    let mut links = [None; 4];
    for (link, place) in all.zip(&mut links) {
        *place = Some(link);
    }
    links[0].is_some().then_some(links)
}

/// A window, its belief and the network's moves, before the controller's action fixes the packets that arrive next.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The window. Its `sent_next` is not used; see [`Branch::window`].
    window: Window,
    /// Range of C; `None` if rounding left a single link.
    ends: Option<Ends>,
    /// Links of the window's belief.
    own: Links<Last>,
    /// Links on which the network moves: those that the search's root also allows. They do not depend on the next
    /// arrivals, so all actions that lead to this branch share them. Boxed, because branches are copied and most of
    /// them have no moves.
    moves: OnceCell<Box<Links<Mover>>>,
}

impl Branch {
    /// Compute the branch of `window`; `None` if no link explains the window. `window.sent_next` is ignored: the caller
    /// passes the packets that reach the queue by the next point to the other functions, as `arriving`.
    pub fn new(window: Window, model: &LinkModel) -> Option<Branch> {
        let ends = Ends::new(&window, model)?;
        let own = links(ends.corners().trajectories(&window, model).map(|(path, _, both)| Last::of(path, &both)))?;
        Some(Branch { window, ends: Some(ends), own, moves: OnceCell::new() })
    }

    /// Returns the window if `arriving` packets reach the queue by the next point.
    pub fn window(&self, arriving: f64) -> Window {
        Window { sent_next: self.window.sent[self.window.len - 1] + arriving, ..self.window }
    }

    /// Returns the bounds over the belief's corners if `arriving` packets reach the queue by the next point.
    pub fn bounds(&self, arriving: f64) -> Bounds {
        let none = Range::new(f64::INFINITY, f64::NEG_INFINITY);
        let mut all = Bounds { c: none, b: none, q: none, safe_rate: f64::INFINITY, min_c_plus_b: f64::INFINITY };
        for last in self.own.iter().flatten() {
            let (Path { c, b }, queue) = (last.path, last.queues(arriving));
            all.c = Range::new(all.c.min.min(c), all.c.max.max(c));
            all.b = Range::new(all.b.min.min(b), all.b.max.max(b));
            all.q = Range::new(all.q.min.min(queue[1]), all.q.max.max(queue[0]));
            all.safe_rate = all.safe_rate.min(c + b - queue[0]);
            all.min_c_plus_b = all.min_c_plus_b.min(c + b);
        }
        all
    }

    /// Return the network's moves if `arriving` packets reach the queue by the next point, on links that `within`
    /// allows. `model` and `within` must be the same in all calls.
    pub fn replies(&self, model: &LinkModel, within: &Within, arriving: f64) -> Replies {
        let mut replies = Replies::new();
        let w = self.window(arriving);
        let len = w.len;
        for Mover { path: Path { c, b }, b: played, trajectories } in self.moves(model, within).iter().flatten() {
            let [longest, shortest] = &trajectories.map(|t| t.with_next(&w, *c, *played));
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

    /// Returns the links on which the network moves, with their trajectories up to the window's last point.
    fn moves(&self, model: &LinkModel, within: &Within) -> &Links<Mover> {
        self.moves.get_or_init(|| {
            let w = &self.window;
            let both = self.ends.as_ref().and_then(|ends| {
                let corners = ends.corners_within(w, model, within);
                links(corners.trajectories(w, model).map(|(path, b, trajectories)| Mover { path, b, trajectories }))
            });
            let own = || self.own.iter().flatten().filter_map(|last| Mover::of(last.path, w, model));
            Box::new(both.or_else(|| links(own())).unwrap_or([None; 4]))
        })
    }

    /// Return the branch after `reply`, before the next action. `None` if no link explains the new window, which
    /// rounding can cause at the extremes.
    pub fn after(&self, model: &LinkModel, arriving: f64, reply: &Reply) -> Option<Branch> {
        let mut window = self.window(arriving);
        window.slide(&reply.observed, 0.0);
        // Losses can narrow C's range so much that the computation of the range fails by rounding. The link of the move
        // explains the new window in any case.
        Branch::new(window, model).or_else(|| {
            let path = Path { c: reply.c, b: reply.b };
            let own = links(path.trajectories(&window, model).iter().map(|both| Last::of(path, both)))?;
            Some(Branch { window, ends: None, own, moves: OnceCell::new() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds_fast::{corners, fast_bounds};
    use crate::link::random_window;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    impl Branch {
        /// Returns a copy without the cached moves.
        pub(crate) fn unshared(&self) -> Branch {
            Branch { moves: OnceCell::new(), ..self.clone() }
        }
    }

    #[test]
    fn moves_are_played_on_the_corners_whatever_arrives() {
        let (model, random) = (LinkModel::default(), &mut ChaCha8Rng::seed_from_u64(7));
        let mut played = 0;
        for _ in 0..300 {
            let (_, window) = random_window(&model, random);
            let (Some(within), Some(branch)) = (Within::of(&window, &model), Branch::new(window, &model)) else {
                continue;
            };
            for arriving in [0.0, 0.7, 13.0, 240.0] {
                let w = branch.window(arriving);
                let direct = corners(&w, &model, Some(&within)).unwrap();
                let moves = branch.moves(&model, &within);
                assert_eq!(moves.iter().flatten().map(|m| m.path).collect::<Vec<_>>(), direct.to_vec());
                for m in moves.iter().flatten() {
                    let next = m.trajectories.map(|t| t.with_next(&w, m.path.c, m.b));
                    assert_eq!(next, m.path.trajectories(&w, &model).unwrap());
                    played += 1;
                }
                assert_eq!(
                    branch.replies(&model, &within, arriving)[..],
                    branch.unshared().replies(&model, &within, arriving)[..]
                );
            }
        }
        assert!(played > 1000, "{played}");
    }

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
