//! Senders that each have a single limit, over a link of 12 Mbit/s and 40 ms.

use super::*;

const MSS: u32 = 1000;
const RTT: u64 = 40_000_000;
const MS: u64 = 1_000_000;
const SHIFT: u8 = 7;
const WIDE: u16 = 30_000;

#[derive(Clone, Copy, Debug)]
enum Event {
    Data { start: i64, bytes: u32, is_pushed: bool },
    Ack { ack: i64, window: u16 },
}

/// A record in which frames count from 1 in time order.
#[derive(Default)]
struct Record {
    events: Vec<(u64, Event)>,
}

impl Record {
    fn data(&mut self, at: u64, start: i64, bytes: u32, is_pushed: bool) {
        self.events.push((at, Event::Data { start, bytes, is_pushed }));
    }
    fn ack(&mut self, at: u64, ack: i64, window: u16) {
        self.events.push((at, Event::Ack { ack, window }));
    }
    fn periods(self, lag_ns: u64) -> Vec<Period> {
        self.periods_of(Terms { mss: MSS, window_shift: Some(SHIFT), lag_ns, answer_ns: None }, RTT)
    }
    fn periods_of(mut self, terms: Terms, rtt: u64) -> Vec<Period> {
        self.events.sort_by_key(|&(at, _)| at);
        let mut limits = Limits::new(terms);
        let mut acked = 0;
        for (frame, (at, event)) in (1..).zip(self.events) {
            match event {
                Event::Data { start, bytes, is_pushed } => {
                    limits.on_data(&Data { at, frame, start, end: start + i64::from(bytes), is_pushed });
                }
                Event::Ack { ack, window } => {
                    limits.on_ack(&Ack { at, ack, window, is_news: ack > acked, rtt_min_ns: Some(rtt) });
                    acked = acked.max(ack);
                }
            }
        }
        limits.finish()
    }
}

/// Returns the fraction of the time under a limit.
fn share(periods: &[Period], limit: Limit) -> f64 {
    let length = |p: &Period| (p.to_ns - p.from_ns) as f64;
    periods.iter().filter(|p| p.limit == limit).map(length).sum::<f64>() / periods.iter().map(length).sum::<f64>()
}

/// A sender with a window of `window` packets. Each ACK releases a packet, which leaves `answer_ns` later.
fn windowed(window: u64, answer_ns: u64, advertised: u16) -> Record {
    let mut record = Record::default();
    let service = MS * 2 / 3;
    let mut free = 0;
    let mut sends: Vec<u64> = vec![0; window as usize];
    let mut n = 0;
    while n < sends.len() && sends.len() < 3000 {
        let at = sends[n];
        free = free.max(at) + service;
        let start = n as i64 * i64::from(MSS);
        record.data(at, start, MSS, false);
        record.ack(free + RTT, start + i64::from(MSS), advertised);
        sends.push(free + RTT + answer_ns);
        n += 1;
    }
    record
}

#[test]
fn packets_that_follow_acks_are_held_by_the_window() {
    for window in [10, 30, 100] {
        let periods = windowed(window, 20_000, WIDE).periods(0);
        assert!(share(&periods, Limit::Window) > 0.99, "{window}: {periods:?}");
    }
}

/// A sender with a fixed window. The path releases its ACKs together every 5 ms. The sender responds to the first ACK
/// after a host's response time, and to the others as fast as it can write packets.
#[test]
fn a_bursty_path_is_no_clock_of_the_senders() {
    const HOLD: u64 = 5_000_000;
    let mut record = Record::default();
    let (mut free, mut sends) = (0, vec![0; 40]);
    for n in 0..3000usize {
        let (at, start) = (sends[n], n as i64 * i64::from(MSS));
        free = at.max(free) + 300_000;
        record.data(at, start, MSS, false);
        let held = (free + RTT).next_multiple_of(HOLD);
        let place = sends.len() as u64 % 17;
        record.ack(held + place * 12_000, start + i64::from(MSS), WIDE);
        // each packet leaves 60 to 400 us after its ACK, and never before the previous packet
        let answer = held + 60_000 + place * 20_000;
        sends.push(answer.max(sends[sends.len() - 1] + 15_000));
    }
    let periods = record.periods(0);
    assert!(share(&periods, Limit::Pacing) < 0.02, "{periods:?}");
    assert!(share(&periods, Limit::Window) > 0.9, "{periods:?}");
}

#[test]
fn pacing_in_a_few_round_trips_of_many_is_not_claimed() {
    let mut record = windowed(80, 1000, WIDE);
    // For 150 ms of 2 s the sender responds in the middle between two ACKs.
    for (at, event) in &mut record.events {
        if matches!(event, Event::Data { .. }) && (1000 * MS..1150 * MS).contains(at) {
            *at += MS / 3;
        }
    }
    let periods = record.periods(0);
    assert!(share(&periods, Limit::Pacing) == 0.0, "{periods:?}");
    assert!(share(&periods, Limit::Unknown) > 0.0, "{periods:?}");
    assert!(share(&periods, Limit::Window) > 0.9, "{periods:?}");
}

#[test]
fn a_full_receive_window_is_distinguished_from_a_full_cwnd() {
    // The receive window and cwnd both allow 20 packets. If the receive window allows one packet more, it does not
    // limit the flow.
    let room = |packets: u16| (packets * MSS as u16).div_ceil(1 << SHIFT);
    let periods = windowed(20, 20_000, room(20)).periods(0);
    assert!(share(&periods, Limit::ReceiverWindow) > 0.95, "{periods:?}");
    let periods = windowed(20, 20_000, room(22)).periods(0);
    assert!(share(&periods, Limit::Window) > 0.95, "{periods:?}");
}

#[test]
fn a_closed_window_is_the_receivers_until_it_opens() {
    let mut record = Record::default();
    let mss = i64::from(MSS);
    record.data(0, 0, MSS, false);
    record.ack(RTT, mss, 0);
    record.ack(50 * RTT, mss, WIDE);
    // a window probe sent meanwhile is not data
    record.data(20 * RTT, mss - 1, 1, false);
    for n in 1..40 {
        record.data(50 * RTT + 5_000, n * mss, MSS, false);
    }
    let periods = record.periods(0);
    // the period lasts until the last packet of the burst that the window released
    assert_eq!(
        periods,
        [Period { limit: Limit::ReceiverWindow, from_ns: 0, to_ns: 50 * RTT + 5_000, first_frame: 1, last_frame: 43 }]
    );
}

/// A sender that sends every `gap`, independent of ACKs. `is_pushed` decides which packets are pushed.
fn clocked(gap: u64, bytes: u32, segments: u64, is_pushed: impl Fn(u64) -> bool) -> Record {
    let mut record = Record::default();
    for n in 0..2000 {
        let start = n as i64 * i64::from(bytes);
        let at = n / segments * gap;
        record.data(at, start, bytes, is_pushed(n));
        record.ack(at + RTT + 300_000, start + i64::from(bytes), WIDE);
    }
    record
}

#[test]
fn a_clock_of_its_own_is_pacing_unless_each_packet_is_the_last_there_is() {
    // 1.7 ms does not divide the RTT, so ACKs arrive in the middle of waits
    let gap = 1_700_000;
    let pacing = clocked(gap, MSS, 1, |_| false).periods(0);
    assert!(share(&pacing, Limit::Pacing) > 0.95, "{pacing:?}");
    let super_packets = clocked(2 * gap, MSS, 2, |n| n % 2 == 1).periods(0);
    assert!(share(&super_packets, Limit::Pacing) > 0.95, "{super_packets:?}");
    let writes = clocked(gap, MSS, 1, |_| true).periods(0);
    assert!(share(&writes, Limit::Application) > 0.95, "{writes:?}");
    let small = clocked(gap, MSS / 3, 1, |_| true).periods(0);
    assert!(share(&small, Limit::Application) > 0.95, "{small:?}");
    let chunks = clocked(20 * gap, MSS, 20, |n| n % 20 == 19).periods(0);
    assert!(share(&chunks, Limit::Application) > 0.95, "{chunks:?}");
}

#[test]
fn a_sender_that_never_pushes_has_nothing_to_send_when_all_has_arrived() {
    let mut record = Record::default();
    for n in 0..400 {
        let (start, at) = (n as i64 * i64::from(MSS), n / 40 * 5 * RTT);
        record.data(at, start, MSS, false);
        record.ack(at + RTT + n % 40 * 300_000, start + i64::from(MSS), WIDE);
    }
    let periods = record.periods(0);
    assert!(share(&periods, Limit::Application) > 0.95, "{periods:?}");
}

#[test]
fn a_pause_stands_apart_with_the_frames_around_it() {
    let mut record = windowed(10, 20_000, WIDE);
    let cut = record.events.iter().filter(|(_, e)| matches!(e, Event::Data { .. })).nth(999).expect("there").0;
    record.events.retain(|&(at, e)| at <= cut || (matches!(e, Event::Ack { .. }) && at <= cut + RTT));
    let sent = record.events.iter().filter(|(_, e)| matches!(e, Event::Data { .. })).count();
    let last = record.events.iter_mut().filter(|(_, e)| matches!(e, Event::Data { .. })).max_by_key(|&&mut (at, _)| at);
    if let Some((_, Event::Data { bytes, .. })) = last {
        *bytes = MSS / 2;
    }
    let (resumed, frames) = (cut + 100 * RTT, record.events.len() as u64);
    record.data(resumed, sent as i64 * i64::from(MSS) - i64::from(MSS / 2), MSS, false);
    let periods = record.periods(0);
    let last = periods.last().expect("some");
    assert_eq!((last.limit, last.from_ns, last.to_ns), (Limit::Application, cut, resumed), "{periods:?}");
    assert_eq!(last.last_frame, frames + 1);
    assert_eq!(periods.len(), 2, "{periods:?}");
}

#[test]
fn recovery_lasts_from_what_is_sent_again_until_all_is_acknowledged() {
    let mut record = Record::default();
    let mss = i64::from(MSS);
    for n in 0..10 {
        record.data(n * MS, n as i64 * mss, MSS, false);
    }
    for n in 0..4 {
        record.ack(RTT + n * MS, (n as i64 + 1) * mss, WIDE);
        record.data(RTT + n * MS, (n as i64 + 10) * mss, MSS, false);
    }
    // the fifth packet is lost and retransmitted
    record.data(RTT + 5 * MS, 4 * mss, MSS, false);
    record.data(RTT + 25 * MS, 14 * mss, MSS, false);
    record.ack(2 * RTT + 5 * MS, 14 * mss, WIDE);
    for n in 15..30 {
        record.data(2 * RTT + (n - 10) * MS, n as i64 * mss, MSS, false);
        record.ack(2 * RTT + (n - 10) * MS, n as i64 * mss, WIDE);
    }
    let periods = record.periods(0);
    let recovery: Vec<&Period> = periods.iter().filter(|p| p.limit == Limit::Recovery).collect();
    assert_eq!(recovery.len(), 1, "{periods:?}");
    assert_eq!((recovery[0].from_ns, recovery[0].to_ns), (RTT + 3 * MS, RTT + 25 * MS), "{periods:?}");
}

#[test]
fn recoveries_wherever_they_begin_leave_the_ack_clock_seen() {
    let mut record = windowed(10, 20_000, WIDE);
    let sends = record.events.iter().filter_map(|&(at, event)| match event {
        Event::Data { start, .. } => Some((at, start)),
        Event::Ack { .. } => None,
    });
    let again: Vec<(u64, i64)> = sends.skip(30).step_by(61).collect();
    for (at, start) in again {
        record.data(at + 5_000, start, MSS, false);
    }
    let periods = record.periods(0);
    assert!(share(&periods, Limit::Window) > 0.7, "{periods:?}");
    assert!(share(&periods, Limit::Pacing) < 0.01, "{periods:?}");
}

#[test]
fn at_the_receiver_only_limits_without_ack_clock_are_reported() {
    // the receiver's view of a cwnd-limited sender: data comes one round trip after the ACKs that trigger it
    let flip = |record: Record| {
        let mut seen = Record::default();
        for (at, event) in record.events {
            match event {
                Event::Data { start, bytes, is_pushed } => seen.data(at + RTT, start, bytes, is_pushed),
                Event::Ack { ack, window } => seen.ack(at, ack, window),
            }
        }
        seen
    };
    let room = |packets: u16| (packets * MSS as u16).div_ceil(1 << SHIFT);
    let periods = flip(windowed(20, 0, room(20))).periods(RTT);
    assert!(share(&periods, Limit::ReceiverWindow) > 0.9, "{periods:?}");
    let periods = flip(windowed(20, 0, WIDE)).periods(RTT);
    assert!(share(&periods, Limit::Unknown) > 0.99, "{periods:?}");
    let writes = flip(clocked(1_700_000, MSS, 1, |_| true)).periods(RTT);
    assert!(share(&writes, Limit::Application) > 0.95, "{writes:?}");
}

#[test]
fn packets_that_follow_acks_later_than_the_host_answers_are_not_held_by_the_window() {
    // as with `iperf3 --fq-rate 8M`: pairs every 2.9 ms, each 0.36 ms after the ACK of the pair one round trip earlier
    let at_host = |answer_ns| Terms { mss: MSS, window_shift: Some(SHIFT), lag_ns: 0, answer_ns };
    let mut record = Record::default();
    let (gap, after) = (2_900_000, 360_000);
    let rtt = 14 * gap - after;
    for n in 0..2000 {
        let start = n * 2 * i64::from(MSS);
        record.data(n as u64 * gap, start, 2 * MSS, true);
        record.ack(n as u64 * gap + rtt, start + 2 * i64::from(MSS), WIDE);
    }
    let copy = Record { events: record.events.clone() };
    let periods = copy.periods_of(at_host(Some(20_000)), rtt);
    assert!(share(&periods, Limit::Unknown) > 0.95, "{periods:?}");
    let slow = record.periods_of(at_host(Some(300_000)), rtt);
    assert!(share(&slow, Limit::Window) > 0.95, "a host that takes as long to answer: {slow:?}");
    let quick = windowed(20, 20_000, WIDE).periods_of(at_host(Some(20_000)), RTT);
    assert!(share(&quick, Limit::Window) > 0.95, "{quick:?}");
}

#[test]
fn bursts_are_larger_on_short_paths() {
    // as with BBR at 20 Mbit/s: 8 pushed segments every 4.3 ms, whose waits vary by a third
    let record = || {
        let mut record = Record::default();
        let mut at = 0;
        for n in 0..2000_i64 {
            let start = n * 8 * i64::from(MSS);
            record.data(at, start, 8 * MSS, true);
            record.ack(at + 6 * MS, start + 8 * i64::from(MSS), WIDE);
            at += if n % 3 == 0 { 5_300_000 } else { 4_300_000 };
        }
        record
    };
    let terms = Terms { mss: MSS, window_shift: Some(SHIFT), lag_ns: 0, answer_ns: None };
    let short = record().periods_of(terms, 1_500_000);
    assert!(share(&short, Limit::Pacing) > 0.95, "{short:?}");
    let long = record().periods_of(terms, RTT);
    assert!(share(&long, Limit::Application) > 0.95, "{long:?}");
}

#[test]
fn the_window_is_what_was_advertised_wherever_it_is_seen() {
    let mut limits = Limits::new(Terms { mss: MSS, window_shift: Some(0), lag_ns: RTT, answer_ns: None });
    limits.on_data(&Data { at: 0, frame: 1, start: 0, end: 1000, is_pushed: false });
    limits.on_ack(&Ack { at: 1, ack: 1000, window: 40_000, is_news: true, rtt_min_ns: None });
    assert_eq!(limits.window(), Some(40_000));
}
