//! User input: quantities and traces.

use fairweir_path::LinkConfig;
use fairweir_path::link::TraceConfig;
use fairweir_units::{Bytes, Dur, Rate, Size, Time};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Number of packets sent through the link of a trace.
const PACKETS: u64 = 64;

/// Parses `text` as a quantity: it must be rejected with a hint, or printed so that parsing the output gives the same
/// quantity.
///
/// # Panics
/// If the text is neither rejected with a hint nor printed correctly.
pub fn units(text: &str) {
    quantity::<Dur>(text);
    quantity::<Rate>(text);
    quantity::<Bytes>(text);
    quantity::<Size>(text);
}

fn quantity<Q>(text: &str)
where
    Q: FromStr<Err = fairweir_units::ParseError> + Display + Debug + PartialEq,
{
    match text.parse::<Q>() {
        Ok(quantity) => assert_eq!(quantity.to_string().parse(), Ok(quantity), "of `{text}`"),
        Err(e) => assert!(!e.to_string().is_empty() && !e.hint().is_empty(), "of `{text}`"),
    }
}

/// Parses `text` as a trace: it must be rejected with a line number, or yield a link that serves packets in order.
///
/// # Panics
/// If the text is neither rejected with a line number nor such a link.
pub fn trace(text: &str) {
    let config = match TraceConfig::parse(text) {
        Ok(config) => config,
        Err(e) => return assert!(!e.to_string().is_empty() && !e.hint().is_empty(), "of `{text}`"),
    };
    let link = LinkConfig::Trace(config);
    assert_eq!(link.validate(), Ok(()));
    let mut link = link.build();
    let (mut now, mut last) = (Time::ZERO, Time::ZERO);
    for i in 0..PACKETS {
        let left = link.depart(now, Bytes(40 + 97 * i));
        assert!(left >= now && left >= last, "packet {i} came at {now} and left at {left}, after one at {last}");
        // Every third packet arrives after the link has been idle for some time.
        now = if i % 3 == 0 { left + Dur::from_secs(i) } else { now };
        last = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_a_quantity_or_a_message(text in "[0-9._]{0,24} ?(ns|us|ms|s|min|h|[kMGT]?(bps|bit/s|bit)|B|KiB|pkts|bdp|.{0,3})") {
            units(&text);
        }

        #[test]
        fn any_lines_are_a_trace_or_a_message(lines in proptest::collection::vec("[0-9]{1,4}|#.?|.{0,3}", 0..20), is_sorted: bool) {
            let mut lines = lines;
            if is_sorted {
                lines.retain(|line| line.parse::<u32>().is_ok());
                lines.sort_by_key(|line| line.parse::<u32>().unwrap_or(0));
            }
            trace(&lines.join("\n"));
        }
    }
}
