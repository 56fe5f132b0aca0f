//! TCP's throughput as a function of the loss-event rate (RFC 5348 §3.1), with b = 1 and t_RTO = 4 R.

/// Minimum loss rate of the inversion.
const MIN_LOSS_RATE: f64 = 1e-12;

/// Halvings of the search: far below the resolution of a double.
const HALVINGS: u32 = 100;

/// Packets per RTT at the loss-event rate `p`, in 0..=1 and positive.
pub(crate) fn packets_per_rtt(p: f64) -> f64 {
    1.0 / ((2.0 * p / 3.0).sqrt() + 4.0 * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// The loss-event rate at which the equation gives `pkts` packets per RTT; at most 1.
pub(crate) fn loss_rate(pkts: f64) -> f64 {
    let (mut low, mut high) = (MIN_LOSS_RATE, 1.0);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if packets_per_rtt(middle) > pkts {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_those_of_the_equation() {
        // by hand: p = 0.01: sqrt(0.006667) + 12 sqrt(0.00375) 0.01 1.0032 = 0.0816497 + 0.0073720
        assert!((packets_per_rtt(0.01) - 1.0 / 0.089_021_7).abs() < 1e-3, "{}", packets_per_rtt(0.01));
        // for small p the square-root law, sqrt(3/2) / sqrt(p)
        assert!((packets_per_rtt(1e-8) / 1.224_744_871e4 - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn the_inversion_inverts(exponent in -8.0..0.0f64) {
            let p = 10f64.powf(exponent);
            prop_assert!((loss_rate(packets_per_rtt(p)) / p - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn beyond_its_range_the_inversion_stops_at_the_end() {
        assert_eq!(loss_rate(0.0), 1.0);
        assert!(loss_rate(1e30) <= 1.01 * MIN_LOSS_RATE);
    }
}
