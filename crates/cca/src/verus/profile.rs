//! The delay profile: the RTT that packets saw, by the window in which they were sent.

use std::collections::BTreeMap;

/// Weight of the past in a point's average.
const MEMORY: f64 = 0.875;
/// Largest window, packets (MAX_W_DELAY_CURVE in the code): it bounds the line beyond the last point.
pub(super) const LARGEST: u32 = 40_000;
/// Number of pieces of the curve; fewer for small windows, of which each has at least this many packets.
const PIECES: usize = 15;
const PIECE_PKTS: f64 = 5.0;

/// Points and curve.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    /// Averages of the RTT, s.
    points: BTreeMap<u32, f64>,
    /// Corners of the curve, with increasing windows and delays.
    curve: Vec<(f64, f64)>,
}

impl Profile {
    /// Adds a packet sent in a window of `window` packets.
    pub fn add(&mut self, window: u32, rtt: f64) {
        let point = self.points.entry(window.clamp(1, LARGEST)).or_insert(rtt);
        *point = MEMORY * *point + (1.0 - MEMORY) * rtt;
    }

    /// Forgets points above `window`.
    pub fn cut(&mut self, window: u32) {
        self.points.split_off(&(window + 1));
    }

    /// Computes the curve from the points: a line through the means of pieces of the range, made increasing (pools of
    /// adjacent violators). Returns whether there is one.
    pub fn fit(&mut self) -> bool {
        let Some((&largest, _)) = self.points.last_key_value() else {
            return false;
        };
        let pieces = ((f64::from(largest) / PIECE_PKTS) as usize).clamp(1, PIECES);
        let width = f64::from(largest) / pieces as f64;
        // sums of windows and delays, and the number of points, of each piece
        let mut sums = vec![(0.0, 0.0, 0.0); pieces];
        for (&window, &rtt) in &self.points {
            let piece = &mut sums[((f64::from(window - 1) / width) as usize).min(pieces - 1)];
            *piece = (piece.0 + f64::from(window), piece.1 + rtt, piece.2 + 1.0);
        }
        let mut pools: Vec<(f64, f64, f64)> = Vec::with_capacity(pieces);
        for mut sum in sums.into_iter().filter(|sum| sum.2 > 0.0) {
            while let Some(last) = pools.pop_if(|last| last.1 / last.2 >= sum.1 / sum.2) {
                sum = (sum.0 + last.0, sum.1 + last.1, sum.2 + last.2);
            }
            pools.push(sum);
        }
        self.curve = pools.into_iter().map(|(window, rtt, n)| (window / n, rtt / n)).collect();
        true
    }

    /// Returns the delay at `window`, s.
    pub fn delay(&self, window: f64) -> Option<f64> {
        interpolate(self.curve.iter().copied(), window)
    }

    /// Returns the window at `delay`, packets; beyond the curve it extends its last line.
    pub fn window(&self, delay: f64) -> Option<f64> {
        interpolate(self.curve.iter().map(|&(window, delay)| (delay, window)), delay)
    }
}

/// Interpolates linearly between points with increasing x; extrapolates the lines at both ends.
fn interpolate(points: impl DoubleEndedIterator<Item = (f64, f64)> + Clone, x: f64) -> Option<f64> {
    let above = points.clone().position(|p| p.0 > x);
    let first = points.clone().next()?;
    let n = points.clone().count();
    if n == 1 {
        // proportional: the only line that one point determines
        return Some(first.1 * (x / first.0));
    }
    let from = above.unwrap_or(n - 1).clamp(1, n - 1) - 1;
    let mut two = points.skip(from);
    let (a, b) = (two.next()?, two.next()?);
    Some(a.1 + (b.1 - a.1) * ((x - a.0) / (b.0 - a.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(points: &[(u32, f64)]) -> Profile {
        let mut profile = Profile { points: points.iter().copied().collect(), ..Profile::default() };
        assert!(profile.fit());
        profile
    }

    #[test]
    fn a_line_is_found_and_inverted() {
        let points: Vec<(u32, f64)> = (1..=75).map(|w| (w, 0.02 + 0.001 * f64::from(w))).collect();
        let profile = of(&points);
        assert_eq!(profile.curve.len(), PIECES);
        for window in [1.0, 10.0, 40.0, 75.0, 100.0] {
            let delay = profile.delay(window).expect("a curve");
            assert!((delay - 0.02 - 0.001 * window).abs() < 1e-9, "{window}: {delay}");
            assert!((profile.window(delay).expect("a curve") - window).abs() < 1e-6, "{window}");
        }
    }

    #[test]
    fn the_curve_increases_although_the_points_do_not() {
        let profile = of(&(1..=75).map(|w| (w, if w % 20 < 10 { 0.05 } else { 0.04 })).collect::<Vec<_>>());
        assert!(profile.curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "{:?}", profile.curve);
    }

    #[test]
    fn one_point_is_a_line_through_the_origin() {
        let profile = of(&[(10, 0.05)]);
        assert!((profile.window(0.1).expect("a curve") - 20.0).abs() < 1e-9);
        assert_eq!(Profile::default().window(0.1), None);
    }

    #[test]
    fn points_are_moving_averages_and_can_be_cut() {
        let mut profile = Profile::default();
        profile.add(5, 0.1);
        profile.add(5, 0.2);
        profile.add(9, 0.3);
        assert!((profile.points[&5] - 0.1125).abs() < 1e-12);
        profile.cut(8);
        assert_eq!(profile.points.len(), 1);
    }
}
