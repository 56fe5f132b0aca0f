//! Golden-section search for the minimum of a function of one variable.

/// Returns the point with the minimum cost found in a range, and the cost. `sections` steps reduce the range to
/// 0.618^sections of its length.
pub(crate) fn least(low: f64, high: f64, sections: usize, cost: impl Fn(f64) -> f64) -> (f64, f64) {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (low, high);
    let look = |x: f64| (x, cost(x));
    let (mut left, mut right) = (look(high - (high - low) * golden), look(low + (high - low) * golden));
    let mut best = if left.1 <= right.1 { left } else { right };
    for _ in 0..sections {
        if left.1 <= right.1 {
            (high, right) = (right.0, left);
            left = look(high - (high - low) * golden);
        } else {
            (low, left) = (left.0, right);
            right = look(low + (high - low) * golden);
        }
        for seen in [left, right] {
            if seen.1 < best.1 {
                best = seen;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_is_found() {
        let (x, cost) = least(-10.0, 50.0, 40, |x| (x - 3.25).abs());
        assert!((x - 3.25).abs() < 1e-6 && cost < 1e-6, "{x}");
    }
}
