//! Steepest slopes between the points of two curves, in O(n log n) time.

/// Earlier points, reduced to the convex chain from which the steepest slopes to later points start. Each point has a
/// frame.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    points: Vec<((f64, f64), u32)>,
}

fn cross(o: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - o.0) * (b.1 - o.1) - (a.1 - o.1) * (b.0 - o.0)
}

impl Chain {
    /// Adds a point that is not left of the earlier points. The chain turns left at each point, as a lower hull does.
    pub(crate) fn push(&mut self, point: (f64, f64), frame: u32) {
        while let [.., (o, _), (a, _)] = self.points[..] {
            if cross(o, a, point) > 0.0 {
                break;
            }
            self.points.pop();
        }
        self.points.push((point, frame));
    }

    /// Returns the steepest slope from a point of the chain to `to`, which lies right of the chain, and the frame of
    /// the point where it starts; `None` for an empty chain.
    pub(crate) fn steepest_to(&self, to: (f64, f64)) -> Option<(f64, u32)> {
        let sees_next = |i: usize| cross(self.points[i].0, self.points[i + 1].0, to) > 0.0;
        let (mut low, mut high) = (0, self.points.len().checked_sub(1)?);
        while low < high {
            let middle = (low + high) / 2;
            if sees_next(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (from, frame) = self.points[low];
        Some(((to.1 - from.1) / (to.0 - from.0), frame))
    }
}
