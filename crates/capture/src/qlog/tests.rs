//! Synthetic qlogs: formats, times, and errors.

use super::*;
use proptest::prelude::*;

const SENT: &str = r#"{"time":1.5,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7},"raw":{"length":1252},"frames":[{"frame_type":"stream"}]}}"#;
const ACKED: &str = r#"{"time":42.25,"name":"quic:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":3},"frames":[{"frame_type":"ack","ack_delay":0.75,"acked_ranges":[[3,5],["7"]]}]}}"#;
const LOST: &str = r#"{"time":50,"name":"recovery:packet_lost","data":{"header":{"packet_type":"1RTT","packet_number":6},"trigger":"reordering_threshold"}}"#;
const METRICS: &str =
    r#"{"time":51,"name":"recovery:metrics_updated","data":{"bytes_in_flight":9000,"smoothed_rtt":40.5}}"#;

fn document(common: &str, events: &[&str]) -> String {
    let events = events.join(",");
    format!(
        r#"{{"qlog_version":"0.3","qlog_format":"JSON","traces":[{{"common_fields":{common},"events":[{events}]}}]}}"#
    )
}

fn sequence(events: &[&str]) -> String {
    let head = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"common_fields":{}}}"#;
    [&[head], events].concat().iter().map(|record| format!("\x1e{record}\n")).collect()
}

fn read(text: &str) -> Result<(Vec<QuicEvent>, Counts), CaptureError> {
    let mut events = Vec::new();
    let counts = read_qlog(text.as_bytes(), &mut |event, _| {
        events.push(event);
        true
    })?;
    Ok((events, counts))
}

fn reason(text: &str) -> String {
    match read(text) {
        Err(CaptureError::Qlog { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_forms_give_the_same_events() {
    let events = [SENT, ACKED, LOST, METRICS];
    let (seen, counts) = read(&document("{}", &events)).expect("a qlog");
    let whats: Vec<QuicWhat> = seen.iter().map(|event| event.what.clone()).collect();
    assert_eq!(
        whats,
        [
            QuicWhat::Sent { number: 7, bytes: 1252 },
            QuicWhat::Acked { ranges: vec![(3, 5), (7, 7)], delay_ns: Some(750_000) },
            QuicWhat::Lost { number: 6 },
            QuicWhat::Metrics { inflight_bytes: Some(9000) },
        ]
    );
    let times: Vec<(u64, u64)> = seen.iter().map(|event| (event.frame, event.time_ns)).collect();
    assert_eq!(times, [(1, 1_500_000), (2, 42_250_000), (3, 50_000_000), (4, 51_000_000)]);
    assert_eq!((counts.frames, counts.segments, counts.resolution_ns), (4, 4, 1000));
    assert_eq!(read(&sequence(&events)).expect("a qlog"), (seen, counts));
}

#[test]
fn times_count_from_what_the_trace_says() {
    let times = |common: &str| -> Vec<u64> {
        read(&document(common, &[SENT, ACKED])).expect("a qlog").0.iter().map(|event| event.time_ns).collect()
    };
    assert_eq!(times(r#"{"time_format":"delta"}"#), [1_500_000, 43_750_000]);
    assert_eq!(times(r#"{"time_format":"relative","reference_time":"1000"}"#), [1_001_500_000, 1_042_250_000]);
    assert_eq!(times(r#"{"time_format":"absolute","reference_time":1000}"#), [1_500_000, 42_250_000]);
    assert_eq!(times(r#"{"time_format":"relative_to_epoch","reference_time":{"epoch":"1970-01-01"}}"#)[0], 1_500_000);
    assert!(reason(&document(r#"{"time_format":"lunar"}"#, &[SENT])).contains("`lunar`"));
}

#[test]
fn other_packets_and_events_are_counted() {
    let handshake = SENT.replace("1RTT", "initial");
    let only_ack = SENT.replace("\"stream\"", "\"ack\"");
    let unnumbered = SENT.replace("\"packet_number\":7", "\"dcil\":7");
    let untimed = SENT.replace("\"time\":1.5,", "");
    let other = r#"{"time":2,"name":"http:frame_parsed","data":{"frames":"no list"}}"#;
    let (seen, counts) =
        read(&document("{}", &[&handshake, &only_ack, &unnumbered, &untimed, other, SENT])).expect("a qlog");
    assert_eq!(seen.len(), 1);
    assert_eq!((counts.frames, counts.not_tcp, counts.malformed, counts.untimed), (6, 3, 1, 1));
}

#[test]
fn a_sequence_that_is_cut_off_gives_what_it_has() {
    let whole = sequence(&[SENT, ACKED]);
    let (seen, counts) = read(&whole[..whole.len() - 20]).expect("a qlog");
    assert_eq!((seen.len(), counts.is_truncated), (1, true));
}

#[test]
fn an_invalid_qlog_is_rejected() {
    assert!(reason("{\"a\": 1}").contains("qlog_version"));
    assert!(reason(r#"{"qlog_version":"0.3"}"#).contains("traces"));
    assert!(
        reason(r#"{"qlog_version":"draft-01","traces":[{"event_fields":["time"],"events":[]}]}"#)
            .contains("event_fields")
    );
    assert!(reason(&document("{}", &[SENT])[..80]).contains("EOF"));
    assert!(!is_qlog(&[0xd4, 0xc3, 0xb2, 0xa1]) && is_qlog(b" \n{") && is_qlog(b"\x1e{"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    /// Overwritten bytes at any position lead to an error or to counts that add up.
    #[test]
    fn damage_is_survived(changes in prop::collection::vec((0usize..900, any::<u8>()), 1..20), is_sequence: bool) {
        let events = [SENT, ACKED, LOST, METRICS];
        let mut bytes = if is_sequence { sequence(&events) } else { document("{}", &events) }.into_bytes();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        if let Ok(c) = read_qlog(&bytes[..], &mut |_, _| true) {
            prop_assert_eq!(c.frames, c.segments + c.not_tcp + c.malformed + c.untimed);
        }
    }
}
