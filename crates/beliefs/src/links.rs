//! Beliefs about a bottleneck from all flows that share it. C is the link's rate, D the maximum jitter and R the
//! propagation RTT.
//!
//! Conclusions about the link need evidence that traffic outside the capture cannot produce. If such traffic shares the
//! link, only the lower bound on C holds, because each flow still gets at most C. The claims and their evidence:
//!
//! - C has an upper bound: one link explains all delays to within the transmission time of a few packets, and no pair
//!   of packets contradicts it.
//! - The link's rate changed: packet pairs have the spacing of the old rate before the change and of the new rate after
//!   it (see `dispersion`). Without pairs: the rate of each part explains its part of the time to the same accuracy.
//! - Other traffic started or stopped: the rate left for the flows changed, and the spacing of pairs did not.
//! - A shaper or policer: a bucket explains, to the same accuracy, what a constant link does not. For a policer, in
//!   addition no packets wait where packets are lost.

use crate::ccac::min_rate;
use crate::dispersion::{Pair, agreed, pairs, spacings};
use crate::token_bucket::{served_rate, sparing_shaper};
use crate::{Aggregation, Belief, Fate, Moment, Packet, Slice};
use crate::{CcacBelief, Interval, Parts, Piece, Pieces, Record, TokenBucket, Verdict};
use crate::{aggregation, cut, explain, explain_ccac, judge, policer, shaper, shrink};
use serde::Serialize;
use std::ops::Range;

/// Assumed ratio of the jitter at the true rate to the jitter at the rate that needs the minimum.
const FITTED: f64 = 1.25;
/// A link explains delays exactly if they deviate by at most the transmission time of this many packets, or by
/// `EXACT_NS`.
const EXACT_PACKETS: f64 = 6.0;
/// Deviation of delays that hosts may add, ns.
const EXACT_NS: f64 = 1_500_000.0;
/// Relative tolerance between the rate of pairs and the rate of a period.
const NEAR: f64 = 0.05;
/// Relative tolerance between the rate of all packets' spacings, to which other traffic adds whole packets, and the
/// rate of a period.
const NEAR_SPACED: f64 = 0.025;
/// A policer is reported only if packets wait for less than this fraction of the time for which a queue of the bucket's
/// size could delay them.
const WAITING: f64 = 0.3;
/// Minimum jitter assumed if the capture has no queue ahead, ns.
const MIN_RATE_JITTER_NS: u64 = 10_000_000;

/// Cause of a rate change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The link's rate changed.
    Link,
    /// Traffic outside the capture takes a different share.
    OtherTraffic,
    /// The link's rate changed or traffic outside the capture takes a different share.
    Unknown,
}

/// A change of the rate at which a group of flows is served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateChange {
    /// Time, ns.
    pub time_ns: u64,
    /// Frames of the acknowledgements that show the change.
    pub frames: [u32; 2],
    /// The rate before the change, bytes/s.
    pub before_bytes_per_s: Interval,
    /// The rate after the change, bytes/s.
    pub after_bytes_per_s: Interval,
    /// Cause of the change.
    pub cause: Cause,
}

/// Belief about the link's rate in a period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatePart {
    /// Start of the period, ns.
    pub from_ns: u64,
    /// End of the period, ns.
    pub to_ns: u64,
    /// C, bytes/s; without an upper bound if other traffic may have taken a share.
    pub rate_bytes_per_s: Interval,
}

/// The beliefs about a bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Rate of the link over time; one part unless the rate changed.
    pub rates: Vec<RatePart>,
    /// Changes of the rate at which the flows were served.
    pub changes: Vec<RateChange>,
    /// A token bucket, if it explains what a constant link does not.
    pub token_bucket: Option<TokenBucket>,
    /// The rate on which packet pairs agree, bytes/s.
    pub pairs_bytes_per_s: Option<f64>,
    /// Whether the capture can show a queue; if not, the rates are lower bounds from the delivered data.
    pub is_queue_ahead: bool,
    /// D, the jitter that was assumed, ns.
    pub jitter_assumed_ns: f64,
    /// Maximum difference between the flows' propagation delays, ns. It is unknown how much of it lies before the
    /// queue, so the arrival times at the queue have this uncertainty. A jitter of the merged packets below this value
    /// is not significant.
    pub propagation_spread_ns: u64,
}

/// The belief sets of a group's packets.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    /// Belief of the CBR-delay model.
    pub cbr_delay: Option<Belief>,
    /// Belief of the CCAC model.
    pub ccac: Option<CcacBelief>,
    /// Verdicts on the models.
    pub models: Vec<Verdict>,
    /// The parts between changes of the rate; `None` without changes.
    pub pieces: Option<Pieces>,
    /// The CCAC model's bounds over time.
    pub shrinking: Vec<Moment>,
    /// ACK aggregation.
    pub aggregation: Option<Aggregation>,
}

impl Sets {
    /// Returns the sets for a flow with a propagation delay `later` ns above the minimum.
    pub(crate) fn with_propagation(mut self, later: f64) -> Sets {
        let shift =
            |range: &mut Interval| *range = Interval { lo: range.lo + later, hi: range.hi.map(|hi| hi + later) };
        if let Some(belief) = &mut self.cbr_delay {
            shift(&mut belief.rtprop_ns);
            for slice in belief.slices.iter_mut().chain([&mut belief.simplest]) {
                slice.rtprop_max_ns += later;
                slice.delay_max_ns += later;
            }
        }
        if let Some(belief) = &mut self.ccac {
            shift(&mut belief.rtprop_ns);
        }
        self
    }
}

/// The D assumed for a path, ns: the jitter at the rate that needs the minimum; plus a quarter of it, because the true
/// rate may need more; plus a packet's transmission time, because a link serves whole packets and receivers acknowledge
/// every second packet.
fn assumed_jitter(simplest: &Slice, packet: f64) -> f64 {
    FITTED * simplest.jitter_min_ns() + packet * 1e9 / simplest.rate_bytes_per_s
}

/// Whether the timing of hosts and the transmission of whole packets explain a jitter, at a rate in bytes/s.
fn is_exact(jitter_ns: f64, packet: f64, rate: f64) -> bool {
    jitter_ns <= EXACT_NS.max(EXACT_PACKETS * packet * 1e9 / rate)
}

/// Rates that show how the link spaces packets.
#[derive(Debug)]
struct Spread {
    pairs: Vec<Pair>,
    spacings: Vec<Pair>,
}

/// Evidence from the spacing of packets for or against a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Witness {
    /// Packets have the spacing of that rate.
    Confirms,
    /// Packets have the spacing of this other rate, bytes/s.
    Denies(f64),
    /// The spacings agree on no rate.
    Silent,
}

impl Spread {
    fn new(flows: &[&[Packet]], merged: &[Packet]) -> Spread {
        let mut all: Vec<Pair> = flows.iter().flat_map(|packets| pairs(packets)).collect();
        all.sort_by_key(|pair| pair.at);
        Spread { pairs: all, spacings: spacings(flows, merged) }
    }

    /// Compares a rate with the spacing of pairs. If pairs do not agree on a rate, uses the spacing of all packets.
    fn asked(&self, time: Range<u64>, rate: f64) -> Witness {
        match agreed(&self.pairs, time.clone()) {
            Some(seen) if near(seen, rate) => return Witness::Confirms,
            Some(seen) => return Witness::Denies(seen),
            None => {}
        }
        match agreed(&self.spacings, time) {
            Some(seen) if (seen / rate - 1.0).abs() <= NEAR_SPACED => Witness::Confirms,
            _ => Witness::Silent,
        }
    }
}

/// Returns the beliefs about the link behind a queue from the packets of all flows that share it.
///
/// # Parameters
/// `flows`: the packets of each flow; `packets`: the packets of all flows in send order; `resolution`: of the capture's
/// clock, ns.
pub(crate) fn judge_link(flows: &[&[Packet]], packets: &[Packet], resolution: f64) -> Option<(Link, Sets)> {
    let spread = Spread::new(flows, packets);
    let curves = Record::new(packets)?;
    let record = &curves;
    let parts = Parts::new(record);
    let packet = f64::from(packets.iter().map(|packet| packet.bytes).max()?);
    let whole = explain(packets, |simplest| assumed_jitter(simplest, packet));
    // a single rate is sufficient if it needs a jitter no larger than R (thesis section 4.1.1)
    let is_enough = |belief: &Belief| belief.simplest.jitter_min_ns() <= belief.simplest.rtprop_max_ns;
    let pieces = match &whole {
        Some(belief) if is_enough(belief) => None,
        _ => parts.as_ref().and_then(cut),
    };
    let shaper = find_shaper(packets, parts.as_ref(), &spread, packet);
    let pieces = pieces.filter(|_| shaper.is_none());
    let cbr_delay = whole.filter(|_| pieces.is_none());
    let ccac = cbr_delay.as_ref().and_then(|belief| explain_ccac(record, belief.jitter_assumed_ns));
    let models = cbr_delay.as_ref().map_or_else(Vec::new, |belief| {
        // thesis section 4.1.1: jitter is at most R
        judge(record, belief, resolution, belief.simplest.rtprop_max_ns)
    });
    let jitter = match (&cbr_delay, &pieces) {
        (Some(belief), _) => belief.jitter_assumed_ns,
        (None, Some(pieces)) => pieces.jitter_assumed_ns,
        (None, None) => 0.0,
    };
    let frames: Vec<(u32, u32)> =
        pieces.iter().flat_map(|pieces| &pieces.pieces).map(|piece| (piece.from_frame, piece.to_frame)).collect();
    let shrinking = shrink(record, jitter, &frames);
    let (from_ns, to_ns) = {
        let acks = record.acks();
        (record.captured(acks[0].at), record.captured(acks[acks.len() - 1].at))
    };
    drop(curves); // it is larger than the packets, and the following steps need as much memory
    let policer = || policer(packets, cbr_delay.as_ref()?).filter(|bucket| nothing_waits(packets, bucket));
    let token_bucket = shaper.or_else(|| if flows.len() == 1 { policer() } else { None });
    let aggregation = cbr_delay.as_ref().and_then(|belief| aggregation(packets, &belief.simplest));
    let changes = pieces.as_ref().map_or_else(Vec::new, |pieces| changes(pieces, &spread));
    let rates = match (&cbr_delay, &pieces) {
        // a link with a bucket has two rates, which are reported with the bucket
        _ if shaper.is_some() => Vec::new(),
        (Some(belief), _) => {
            let known = whole_rate(belief, ccac.as_ref(), &spread, packet);
            let rate_bytes_per_s =
                if known.hi.is_none() { served(packets, &spread, packet).unwrap_or(known) } else { known };
            vec![RatePart { from_ns, to_ns, rate_bytes_per_s }]
        }
        (None, Some(pieces)) => part_rates(pieces, &changes, &spread),
        (None, None) => Vec::new(),
    };
    let link = Link {
        rates,
        changes,
        token_bucket,
        pairs_bytes_per_s: agreed(&spread.pairs, 0..u64::MAX),
        is_queue_ahead: true,
        jitter_assumed_ns: jitter,
        propagation_spread_ns: 0,
    };
    Some((link, Sets { cbr_delay, ccac, models, pieces, shrinking, aggregation }))
}

fn near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= NEAR
}

fn middle(rate: Interval) -> f64 {
    rate.hi.map_or(rate.lo, |hi| f64::midpoint(rate.lo, hi))
}

/// C of a link whose rate did not change: the CBR-delay model's range unless other evidence contradicts it, otherwise
/// the lower bound from deliveries.
fn whole_rate(belief: &Belief, ccac: Option<&CcacBelief>, spread: &Spread, packet: f64) -> Interval {
    let range = belief.rate_bytes_per_s;
    let least = ccac.map_or(range.lo, |ccac| ccac.min_bytes_per_s.min(range.lo));
    let is_said = match spread.asked(0..u64::MAX, middle(range)) {
        Witness::Confirms => true,
        Witness::Denies(_) => false,
        Witness::Silent => is_exact(belief.simplest.jitter_min_ns(), packet, belief.simplest.rate_bytes_per_s),
    };
    if is_said { range } else { Interval { lo: least, hi: None } }
}

/// C from packets that waited, if pairs or spacings confirm it. It is used if the CBR-delay range is not confirmed, for
/// example because the link passes small bursts at once.
fn served(packets: &[Packet], spread: &Spread, packet: f64) -> Option<Interval> {
    let all = 0..u64::MAX;
    let seen = agreed(&spread.pairs, all.clone()).or_else(|| agreed(&spread.spacings, all))?;
    let tolerance = EXACT_NS.max(EXACT_PACKETS * packet * 1e9 / seen);
    let (rate, off) = served_rate(packets, seen, tolerance)?;
    ((seen / rate - 1.0).abs() <= NEAR_SPACED).then_some(Interval { lo: rate - off, hi: Some(rate + off) })
}

fn changes(pieces: &Pieces, spread: &Spread) -> Vec<RateChange> {
    let sides = pieces.pieces.windows(2);
    sides
        .zip(&pieces.changes)
        .map(|(sides, change)| {
            let before = spread.asked(sides[0].from_ns..sides[0].to_ns, middle(change.before_bytes_per_s));
            let after = spread.asked(change.contradicted_ns..sides[1].to_ns, middle(change.after_bytes_per_s));
            let cause = match (before, after) {
                (Witness::Confirms, Witness::Confirms) => Cause::Link,
                // the spacing is the same on both sides: that of one side's rate, or of another rate
                (Witness::Confirms, Witness::Denies(seen)) if near(seen, middle(change.before_bytes_per_s)) => {
                    Cause::OtherTraffic
                }
                (Witness::Denies(seen), Witness::Confirms) if near(seen, middle(change.after_bytes_per_s)) => {
                    Cause::OtherTraffic
                }
                (Witness::Denies(one), Witness::Denies(other)) if near(one, other) => Cause::OtherTraffic,
                _ => Cause::Unknown,
            };
            RateChange {
                time_ns: change.time_ns,
                frames: [change.frame, change.contradicted_frame],
                before_bytes_per_s: change.before_bytes_per_s,
                after_bytes_per_s: change.after_bytes_per_s,
                cause,
            }
        })
        .collect()
}

/// Returns C of each part: the part's own range if the spacing of packets confirms it, otherwise the lower bound from
/// deliveries.
fn part_rates(pieces: &Pieces, changes: &[RateChange], spread: &Spread) -> Vec<RatePart> {
    let are_all_the_links = changes.iter().all(|change| change.cause == Cause::Link);
    let part = |piece: &Piece| {
        let range = piece.rate_bytes_per_s;
        let is_said = are_all_the_links && spread.asked(piece.from_ns..piece.to_ns, middle(range)) == Witness::Confirms;
        let rate_bytes_per_s = if is_said { range } else { Interval { lo: range.lo, hi: None } };
        RatePart { from_ns: piece.from_ns, to_ns: piece.to_ns, rate_bytes_per_s }
    };
    pieces.pieces.iter().map(part).collect()
}

/// Finds a shaper that explains, to the accuracy of hosts' timing, delays that a constant link does not.
fn find_shaper(packets: &[Packet], parts: Option<&Parts<'_>>, spread: &Spread, packet: f64) -> Option<TokenBucket> {
    let parts = parts?;
    let steady =
        parts.lasting.iter().max_by_key(|lasting| lasting.len()).map(|lasting| lasting.ccac.rate_bytes_per_s());
    let rate = agreed(&spread.pairs, 0..u64::MAX)
        .or_else(|| agreed(&spread.spacings, 0..u64::MAX))
        .or_else(|| steady.and_then(|rate| rate.hi.map(|hi| f64::midpoint(rate.lo, hi))))?;
    let tolerance = EXACT_NS.max(EXACT_PACKETS * packet * 1e9 / rate);
    sparing_shaper(packets, rate, tolerance).or_else(|| {
        shaper(packets, parts).filter(|bucket| is_exact(bucket.jitter_min_ns, packet, bucket.rate_bytes_per_s))
    })
}

/// Whether packets waited only a short time where packets were lost. In a full queue of the bucket's size they would
/// have waited longer.
fn nothing_waits(packets: &[Packet], bucket: &TokenBucket) -> bool {
    let Some(least) = packets.iter().filter_map(Packet::rtt).min() else { return false };
    let mut waited: Vec<u64> = Vec::new();
    let mut newest = None;
    for packet in packets {
        if packet.fate == Fate::Lost {
            waited.extend(newest);
        }
        newest = packet.rtt().map(|rtt| rtt - least).or(newest);
    }
    waited.sort_unstable();
    let Some(&most) = waited.get(waited.len() * 9 / 10) else { return false };
    most as f64 <= WAITING * bucket.bucket_bytes * 1e9 / bucket.rate_bytes_per_s
}

/// The belief if no queue lies ahead of the capture. The maximum amount delivered in an interval gives a lower bound on
/// C.
///
/// `round_trip`: RTT of the whole path, ns; jitter is at most as large (thesis section 4.1.1).
pub(crate) fn delivered_rate(packets: &[Packet], round_trip: u64) -> Option<Link> {
    let record = Record::new(packets)?;
    let jitter = round_trip.max(MIN_RATE_JITTER_NS) as f64;
    let (rate, _) = min_rate(&record.whole(), jitter)?;
    let acks = record.acks();
    let part = RatePart {
        from_ns: record.captured(acks[0].at),
        to_ns: record.captured(acks[acks.len() - 1].at),
        rate_bytes_per_s: Interval { lo: rate * 1e9, hi: None },
    };
    Some(Link {
        rates: vec![part],
        changes: Vec::new(),
        token_bucket: None,
        pairs_bytes_per_s: None,
        is_queue_ahead: false,
        jitter_assumed_ns: jitter,
        propagation_spread_ns: 0,
    })
}
