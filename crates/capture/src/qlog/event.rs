//! Events of a qlog, and their times.

use super::QuicWhat;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Nanoseconds per millisecond; times in a qlog are in ms.
const NS: f64 = 1e6;

/// A number, or a string that contains a number: 64-bit numbers were logged as strings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Float(f64),
    Text(String),
}

impl Number {
    fn value(&self) -> Option<f64> {
        match self {
            Number::Float(value) => Some(*value),
            Number::Text(text) => text.parse().ok(),
        }
        .filter(|value| value.is_finite())
    }
    /// Returns the number if it is a whole number that a float represents exactly.
    fn whole(&self) -> Option<u64> {
        self.value().filter(|value| (0.0..9e15).contains(value) && value.fract() == 0.0).map(|value| value as u64)
    }
}

/// Fields common to all events of a trace.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Common {
    pub(super) time_format: Option<String>,
    reference_time: Option<Box<RawValue>>,
}

/// An event as logged.
#[derive(Debug, Deserialize)]
pub(super) struct Logged {
    time: Option<Number>,
    #[serde(default)]
    name: String,
    data: Option<Box<RawValue>>,
}

/// Reference point of a trace's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    /// A reference time.
    Reference,
    /// The previous event.
    Before,
}

/// A trace's clock.
#[derive(Debug)]
pub(super) struct Clock {
    counting: Counting,
    reference_ms: f64,
    last_ms: f64,
    went_back: bool,
}

impl Clock {
    /// Creates the clock of a trace; `None` if the time format is unknown.
    pub(super) fn new(common: &Common) -> Option<Clock> {
        let counting = match common.time_format.as_deref() {
            None | Some("absolute" | "relative" | "relative_to_epoch") => Counting::Reference,
            Some("delta" | "relative_to_previous_event") => Counting::Before,
            Some(_) => return None,
        };
        // in newer drafts this is an object whose epoch is a date; times are then relative to the start of the trace
        let reference = common.reference_time.as_ref().and_then(|raw| serde_json::from_str::<Number>(raw.get()).ok());
        let reference_ms = reference.and_then(|number| number.value()).unwrap_or(0.0);
        let reference_ms = if common.time_format.as_deref() == Some("absolute") { 0.0 } else { reference_ms };
        Some(Clock { counting, reference_ms, last_ms: 0.0, went_back: false })
    }

    /// Returns an event's time, ns; `None` if the event has no time.
    pub(super) fn at(&mut self, event: &Logged) -> Option<u64> {
        let logged = event.time.as_ref()?.value()?;
        let ms = match self.counting {
            Counting::Reference => logged,
            Counting::Before => self.last_ms + logged,
        };
        self.went_back = ms < self.last_ms;
        self.last_ms = ms;
        // rounded separately, so that a date does not reduce the precision of the time after it
        let ns = (self.reference_ms * NS).round() + (ms * NS).round();
        (0.0..1.8e19).contains(&ns).then_some(ns as u64)
    }

    /// Returns whether the last event has an earlier time than the event before it.
    pub(super) fn went_back(&self) -> bool {
        self.went_back
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Header {
    packet_type: Option<String>,
    packet_number: Option<Number>,
    packet_size: Option<Number>,
}

#[derive(Debug, Deserialize)]
struct Raw {
    length: Option<Number>,
}

#[derive(Debug, Deserialize)]
struct Frame {
    #[serde(default)]
    frame_type: String,
    ack_delay: Option<Number>,
    acked_ranges: Option<Vec<Vec<Number>>>,
}

/// The `data` of packet_sent, packet_received and packet_lost.
#[derive(Debug, Deserialize)]
struct PacketData {
    #[serde(default)]
    header: Header,
    packet_type: Option<String>,
    raw: Option<Raw>,
    frames: Option<Vec<Frame>>,
}

#[derive(Debug, Deserialize)]
struct MetricsData {
    bytes_in_flight: Option<Number>,
}

/// Content of an event.
pub(super) enum What {
    /// Events that concern the path.
    Path(Vec<QuicWhat>),
    /// Other events.
    Other,
    /// An event without the fields that its name requires.
    Malformed,
}

impl Logged {
    pub(super) fn what(&self) -> What {
        let name = self.name.rsplit(':').next().unwrap_or_default();
        let Some(data) = self.data.as_ref().map(|raw| raw.get()) else { return What::Other };
        if name == "metrics_updated" {
            let Ok(metrics) = serde_json::from_str::<MetricsData>(data) else { return What::Malformed };
            let inflight_bytes = metrics.bytes_in_flight.as_ref().and_then(Number::whole);
            return What::Path(vec![QuicWhat::Metrics { inflight_bytes }]);
        }
        if !matches!(name, "packet_sent" | "packet_received" | "packet_lost") {
            return What::Other;
        }
        let Ok(packet) = serde_json::from_str::<PacketData>(data) else { return What::Malformed };
        if !packet.is_application() {
            return What::Other;
        }
        match name {
            "packet_sent" => packet.sent(),
            "packet_lost" => match packet.header.packet_number.as_ref().and_then(Number::whole) {
                Some(number) => What::Path(vec![QuicWhat::Lost { number }]),
                None => What::Malformed,
            },
            _ => packet.received(),
        }
    }
}

impl PacketData {
    /// Returns whether the packet number is in the application data space (RFC 9000 §12.3).
    fn is_application(&self) -> bool {
        let kind = self.header.packet_type.as_ref().or(self.packet_type.as_ref());
        kind.is_none_or(|kind| matches!(kind.to_ascii_lowercase().as_str(), "1rtt" | "0rtt"))
    }

    fn sent(&self) -> What {
        // RFC 9002 §2: packets that contain only these frames are not ack-eliciting
        let is_quiet = |frame: &Frame| matches!(frame.frame_type.as_str(), "ack" | "padding" | "connection_close");
        if self.frames.as_ref().is_some_and(|frames| !frames.is_empty() && frames.iter().all(is_quiet)) {
            return What::Other;
        }
        let number = self.header.packet_number.as_ref().and_then(Number::whole);
        let logged = self.raw.as_ref().and_then(|raw| raw.length.as_ref()).or(self.header.packet_size.as_ref());
        match (number, logged.and_then(Number::whole)) {
            (Some(number), Some(bytes @ 1..=65535)) => What::Path(vec![QuicWhat::Sent { number, bytes: bytes as u32 }]),
            _ => What::Malformed,
        }
    }

    fn received(&self) -> What {
        let acks = self.frames.iter().flatten().filter(|frame| frame.frame_type == "ack");
        let whats: Option<Vec<QuicWhat>> = acks.map(Frame::acked).collect();
        match whats {
            None => What::Malformed,
            Some(whats) if whats.is_empty() => What::Other,
            Some(whats) => What::Path(whats),
        }
    }
}

impl Frame {
    fn acked(&self) -> Option<QuicWhat> {
        let range = |ends: &Vec<Number>| match &ends[..] {
            [only] => Some((only.whole()?, only.whole()?)),
            [from, to] => Some((from.whole()?, to.whole()?)),
            _ => None,
        };
        let ranges = self.acked_ranges.as_ref()?.iter().map(range).collect::<Option<Vec<_>>>()?;
        let delay_ms = self.ack_delay.as_ref().and_then(Number::value).filter(|delay| (0.0..1e9).contains(delay));
        Some(QuicWhat::Acked { ranges, delay_ns: delay_ms.map(|delay| (delay * NS) as u64) })
    }
}
