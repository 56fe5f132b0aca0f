//! Which network models explain a flow, and which observations contradict the others (thesis section 8.3.2). C is the
//! link's rate, R the propagation RTT and D the maximum jitter.
//!
//! A model explains a flow if some path of the model could have produced the record. Ideal links are CBR-delay links
//! without jitter, and CBR-delay links are CCAC links without hidden bursts. Of the models that explain a flow, the one
//! with the fewest behaviors is therefore the strongest assumption that is consistent with the flow.

use crate::{Belief, Record, min_jitter};
use serde::Serialize;

/// A network model (thesis section 2.3), fewest behaviors first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// A queue served at C, a finite buffer, and a delay of R.
    Ideal,
    /// A queue served at C, then a delay of R plus up to D.
    CbrDelay,
    /// A token bucket that may pass bursts at once, then a delay of R plus up to D.
    Ccac,
}

/// Verdict on a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The model.
    pub model: Model,
    /// Whether some path of the model explains the flow.
    pub explains: bool,
    /// The minimum D with which the model explains the flow (0 for an ideal link), ns; `None` if no tried D does.
    pub jitter_min_ns: Option<f64>,
    /// The maximum D allowed, ns; for the ideal link this is twice the clock's resolution.
    pub jitter_max_ns: f64,
    /// The frames that require `jitter_min_ns`. For ideal and CBR-delay, the delays of these two packets differ by it
    /// at the best rate; for CCAC, the data delivered between the two frames requires it.
    pub frames: Option<[u32; 2]>,
    /// Frames of a lost packet and of a packet that was not lost although it met a longer queue, if at no rate each
    /// loss was caused by a full buffer.
    pub losses_contradict: Option<[u32; 2]>,
}

/// Judges the models.
///
/// # Parameters
/// `belief`: the CBR-delay model's belief set; `resolution`: the capture clock's, ns; `most`: the maximum D that counts
/// as jitter, ns.
pub fn judge(record: &Record<'_>, belief: &Belief, resolution: f64, most: f64) -> Vec<Verdict> {
    let simplest = &belief.simplest;
    let cbr_min = simplest.jitter_min_ns();
    let cbr_frames = Some([simplest.rtprop_frame, simplest.delay_frame]);
    let losses_contradict = match belief.slices.iter().any(|slice| slice.losses_are_overflows()) {
        true => None,
        false => simplest.loss_frame.map(|lost| [lost, simplest.buffer_frame]),
    };
    let verdict = |model, jitter_min_ns: Option<f64>, jitter_max_ns: f64, frames| Verdict {
        model,
        explains: losses_contradict.is_none() && jitter_min_ns.is_some_and(|least| least <= jitter_max_ns),
        jitter_min_ns,
        jitter_max_ns,
        frames,
        losses_contradict,
    };
    // CCAC explains all that CBR-delay explains, up to rounding
    let ccac = min_jitter(record, cbr_min + resolution);
    vec![
        verdict(Model::Ideal, Some(cbr_min), 2.0 * resolution, cbr_frames),
        verdict(Model::CbrDelay, Some(cbr_min), most, cbr_frames),
        verdict(Model::Ccac, ccac.map(|(least, _)| least), most, ccac.and_then(|(_, frames)| frames)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use crate::packet::testing::{Sends, play};
    use crate::packet::{Fate, Packet};

    const RATE: f64 = 1e6;
    const RTPROP: u64 = 20_000_000;
    const MS: f64 = 1e6;

    /// Bursts of 30 packets at twice the link rate, with pauses. `share` returns each packet's jitter in thousandths of
    /// D.
    fn bursts(share: impl Fn(u64) -> u64) -> Sends {
        (0..300).map(|i| (if i % 30 == 0 { 60_000_000 } else { 500_000 }, 1000, share(i))).collect()
    }

    fn judged(packets: &[Packet]) -> Vec<Verdict> {
        let belief = explain(packets, |simplest| 2.0 * simplest.jitter_min_ns()).expect("a path");
        judge(&Record::new(packets).expect("delivered"), &belief, 1.0, RTPROP as f64)
    }

    fn explains(verdicts: &[Verdict]) -> Vec<bool> {
        verdicts.iter().map(|v| v.explains).collect()
    }

    #[test]
    fn an_ideal_link_is_explained_by_all() {
        let verdicts = judged(&play(RATE, RTPROP, 1, 1e9, &bursts(|_| 0)).packets);
        assert_eq!(explains(&verdicts), [true, true, true], "{verdicts:?}");
    }

    #[test]
    fn a_late_packet_contradicts_the_ideal_link() {
        let record = play(RATE, RTPROP, 3_000_000, 1e9, &bursts(|i| if i == 155 { 1000 } else { 0 }));
        let verdicts = judged(&record.packets);
        assert_eq!(explains(&verdicts), [false, true, true], "{verdicts:?}");
        assert_eq!(verdicts[0].frames.map(|frames| frames[1]), Some(record.packets[155].frame));
        let least = verdicts[1].jitter_min_ns.expect("tried");
        assert!((0.8 * 3.0 * MS..=3.0 * MS * 1.0002).contains(&least), "{least}");
    }

    /// A link that sometimes passes a burst at once builds no queue for it. Under CBR-delay the other packets are late.
    #[test]
    fn a_hidden_burst_needs_less_jitter_with_ccac() {
        let mut packets = play(RATE, RTPROP, 1, 1e9, &bursts(|_| 0)).packets;
        // in every third burst the first ten packets pass at once, with tokens for ten packets
        for (i, packet) in packets.iter_mut().enumerate().filter(|(i, _)| i / 30 % 3 == 0) {
            let saved = 10_000_000;
            if let Fate::Acked { at, .. } = &mut packet.fate {
                *at = (*at - saved).max(packet.sent + RTPROP + i as u64 % 30);
            }
        }
        let verdicts = judged(&packets);
        let least = |i: usize| verdicts[i].jitter_min_ns.expect("tried");
        assert!(least(2) <= least(1), "{verdicts:?}");
        assert!(!verdicts[0].explains);
    }

    #[test]
    fn a_loss_from_an_empty_queue_is_no_overflow() {
        let mut packets = play(RATE, RTPROP, 1, 1e9, &bursts(|_| 0)).packets;
        packets[200].fate = Fate::Lost;
        let verdicts = judged(&packets);
        // the 20th packet of the burst is lost, although all 30 packets of other bursts were not
        assert_eq!(verdicts[0].losses_contradict.map(|frames| frames[0]), Some(packets[200].frame));
        assert_eq!(explains(&verdicts), [false, false, false]);
    }

    #[test]
    fn losses_of_a_full_queue_contradict_nothing() {
        let verdicts = judged(&play(RATE, RTPROP, 1, 12_000.0, &bursts(|_| 0)).packets);
        assert!(verdicts.iter().all(|v| v.losses_contradict.is_none()), "{verdicts:?}");
    }
}
