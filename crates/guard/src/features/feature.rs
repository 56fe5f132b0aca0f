//! Names of features, as used in files: `rtt_us`, `rtt_us.ewma0.001`, `rtt_us.window8`, `loss_event_rate.intervals8`.

use std::fmt;
use std::str::FromStr;

/// Defines an enum with the names and the list of its values.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$case_doc])* $case),+ }

        impl $name {
            /// All values.
            pub const ALL: &[$name] = &[$($name::$case),+];
            fn text(self) -> &'static str {
                match self { $($name::$case => $text),+ }
            }
            fn parse(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.text() == text)
            }
        }
    };
}

named! {
    /// Values at the latest arrival.
    Raw {
        /// Sequence number since the flow's first, bytes modulo 2^32.
        Sequence = "seq_bytes",
        /// Time since the first data.
        Age = "age_us",
        /// Latest RTT sample.
        Rtt = "rtt_us",
        /// Minimum RTT sample.
        MinRtt = "min_rtt_us",
        /// RTT divided by minimum RTT.
        RttRatio = "rtt_ratio",
        /// Time since the previous arrival, divided by the number of segments in this arrival.
        Interarrival = "interarrival_us",
        /// Bytes of this arrival, with headers, divided by the time since the previous arrival.
        ArrivalRate = "arrival_rate_mbps",
        /// Segments declared lost at this arrival.
        Lost = "lost_pkts",
        /// Lost divided by lost and arrived segments.
        LossRate = "loss_rate",
        /// Rate from the loss rate by Mathis' formula.
        Mathis = "mathis_mbps",
        /// Bytes of all arrivals, with headers.
        WireBytes = "wire_bytes",
        /// Payload bytes of all arrivals.
        PayloadBytes = "payload_bytes",
    }
}

named! {
    /// Quantities with moving averages.
    Smoothed {
        /// RTT samples.
        Rtt = "rtt_us",
        /// RTT samples divided by the minimum RTT.
        RttRatio = "rtt_ratio",
        /// Times between arrivals.
        Interarrival = "interarrival_us",
        /// Arrival rates of single arrivals.
        ArrivalRate = "arrival_rate_mbps",
        /// Loss rates of single arrivals.
        LossRate = "loss_rate",
        /// Inverse square roots of the loss rates; 1 without loss.
        InvSqrtLossRate = "inv_sqrt_loss_rate",
        /// Mathis' rates of arrivals with loss.
        Mathis = "mathis_mbps",
    }
}

named! {
    /// Quantities over sliding windows.
    WindowStat {
        /// Mean RTT.
        Rtt = "rtt_us",
        /// Mean RTT divided by the minimum RTT.
        RttRatio = "rtt_ratio",
        /// Time span divided by the number of segments after the first packet.
        Interarrival = "interarrival_us",
        /// Bytes per segment of the latest arrival, with headers, divided by the window's mean interarrival time.
        ArrivalRate = "arrival_rate_mbps",
        /// Lost segments divided by lost and arrived segments.
        LossRate = "loss_rate",
        /// Inverse square root of the loss rate; unknown without loss.
        InvSqrtLossRate = "inv_sqrt_loss_rate",
        /// Mathis' rate from the window's RTT and loss rate.
        Mathis = "mathis_mbps",
        /// Bytes after the first packet, with headers, divided by the time span.
        Throughput = "throughput_mbps",
    }
}

named! {
    /// Quantities over the last loss intervals.
    IntervalStat {
        /// Loss event rate (RFC 5348 §5).
        LossEventRate = "loss_event_rate",
        /// Inverse square root of the loss event rate.
        InvSqrtLossEventRate = "inv_sqrt_loss_event_rate",
        /// Mathis' rate from the loss event rate and the latest RTT.
        Mathis = "mathis_event_mbps",
    }
}

/// Weight of the new value in a moving average, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alpha(u16);

/// Weights in thousandths (CMU-CS-24-129, table 5).
const ALPHAS: [u16; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
/// Windows in multiples of the minimum RTT.
const WINDOWS: [u8; 6] = [1, 2, 4, 8, 16, 32];
/// Numbers of loss intervals.
const INTERVALS: [u8; 3] = [4, 8, 16];

impl Alpha {
    /// Returns the weight, between 0 and 1.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// One of the 209 features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Value at the latest arrival.
    Raw(Raw),
    /// Moving average.
    Average(Smoothed, Alpha),
    /// Over a window of this many minimum RTTs.
    Window(WindowStat, u8),
    /// Over this many loss intervals.
    Intervals(IntervalStat, u8),
}

/// All features, in a fixed order.
pub fn catalogue() -> Vec<Feature> {
    let raws = Raw::ALL.iter().map(|&raw| Feature::Raw(raw));
    let averages = Smoothed::ALL.iter().flat_map(|&of| ALPHAS.map(|a| Feature::Average(of, Alpha(a))));
    let windows = WindowStat::ALL.iter().flat_map(|&stat| WINDOWS.map(|k| Feature::Window(stat, k)));
    let intervals = IntervalStat::ALL.iter().flat_map(|&stat| INTERVALS.map(|n| Feature::Intervals(stat, n)));
    raws.chain(averages).chain(windows).chain(intervals).collect()
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Feature::Raw(raw) => f.write_str(raw.text()),
            Feature::Average(of, alpha) => write!(f, "{}.ewma{}", of.text(), alpha.value()),
            Feature::Window(stat, k) => write!(f, "{}.window{k}", stat.text()),
            Feature::Intervals(stat, n) => write!(f, "{}.intervals{n}", stat.text()),
        }
    }
}

/// Unknown name of a feature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown feature `{0}`")]
pub struct ParseError(String);

impl FromStr for Feature {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Feature, ParseError> {
        let (name, history) = text.split_once('.').unwrap_or((text, ""));
        let feature = if let Some(alpha) = history.strip_prefix("ewma") {
            let alpha = ALPHAS.map(Alpha).into_iter().find(|a| a.value().to_string() == alpha);
            Smoothed::parse(name).zip(alpha).map(|(of, alpha)| Feature::Average(of, alpha))
        } else if let Some(k) = history.strip_prefix("window") {
            let k = WINDOWS.into_iter().find(|w| w.to_string() == k);
            WindowStat::parse(name).zip(k).map(|(stat, k)| Feature::Window(stat, k))
        } else if let Some(n) = history.strip_prefix("intervals") {
            let n = INTERVALS.into_iter().find(|i| i.to_string() == n);
            IntervalStat::parse(name).zip(n).map(|(stat, n)| Feature::Intervals(stat, n))
        } else {
            Raw::parse(text).map(Feature::Raw)
        };
        feature.ok_or_else(|| ParseError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_209_and_their_names_parse_back() {
        let all = catalogue();
        let names: HashSet<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!((all.len(), names.len()), (209, 209));
        for feature in all {
            assert_eq!(feature.to_string().parse(), Ok(feature));
        }
        for wrong in ["", "rtt_us.", "rtt_us.window3", "throughput_mbps", "min_rtt_us.ewma0.1", "rtt_us.ewma0.0010"] {
            assert!(wrong.parse::<Feature>().is_err(), "{wrong}");
        }
    }
}
