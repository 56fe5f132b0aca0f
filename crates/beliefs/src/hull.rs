//! Steepest and flattest slopes between points of two curves, in O(n log n).

/// Earlier points, of which only the convex chain that later points can see is kept.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    points: Vec<(f64, f64)>,
}

fn cross(o: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - o.0) * (b.1 - o.1) - (a.1 - o.1) * (b.0 - o.0)
}

impl Chain {
    /// Adds a point that is not left of those before: the chain turns left, as the lower hull does.
    pub(crate) fn push(&mut self, point: (f64, f64)) {
        while let [.., o, a] = self.points[..] {
            if cross(o, a, point) > 0.0 {
                break;
            }
            self.points.pop();
        }
        self.points.push(point);
    }

    /// The steepest slope from a point of the chain to one right of all of it; `None` for an empty chain.
    pub(crate) fn steepest_to(&self, to: (f64, f64)) -> Option<f64> {
        let sees_next = |i: usize| cross(self.points[i], self.points[i + 1], to) > 0.0;
        let (mut low, mut high) = (0, self.points.len().checked_sub(1)?);
        while low < high {
            let middle = (low + high) / 2;
            if sees_next(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let from = self.points[low];
        Some((to.1 - from.1) / (to.0 - from.0))
    }
}
