//! Senders and receivers over loopback.

use super::{Listening, Receivers, SenderPlan, SenderRecord, Senders, Timeline};
use crate::Clock;
use fairweir_scenario::Source;
use fairweir_units::{Bytes, Dur, Rate, Time};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};

/// Packets over loopback, with the headers of IPv4 and TCP including timestamps.
const PACKET: Bytes = Bytes(65_535);

fn ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_millis(ms)
}

/// Returns a loopback address without a listener.
fn free_address() -> SocketAddrV4 {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn plan(remote: SocketAddrV4, source: Source) -> SenderPlan {
    SenderPlan {
        local: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
        remote,
        source,
        start: Time::ZERO,
        stop: Time::NEVER,
        initial_cwnd: 10,
        is_paced: false,
        unsent_bytes: 256 << 10,
        segment_bytes: PACKET.0 - 52,
    }
}

fn timeline() -> Timeline {
    Timeline { warmup: ms(20), end: ms(500), interval: Some(Dur::from_millis(150)), packet: PACKET }
}

/// Runs `plans`, each with a receiver.
fn play(plans: Vec<SenderPlan>, timeline: Timeline) -> SenderRecord {
    let listening: Vec<Listening> = plans.iter().map(|plan| Listening::unlimited(plan.remote)).collect();
    let receivers = Receivers::listen(&listening, &|_, _| Ok(())).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiving = scope.spawn(|| receivers.run(&stop));
        let prepare = |_: usize, _: BorrowedFd<'_>| -> io::Result<()> { Ok(()) };
        let senders = Senders::new(plans, timeline, Clock::starting_now(), &prepare).unwrap();
        let record = senders.run(&AtomicBool::new(false)).unwrap();
        stop.store(true, Ordering::Relaxed);
        receiving.join().unwrap().unwrap();
        record
    })
}

#[test]
fn bulk_finite_and_late_flows_side_by_side() {
    let finite = plan(free_address(), Source::Finite { bytes: Bytes(3 * PACKET.0) });
    let late = SenderPlan { start: ms(60), ..plan(free_address(), Source::Bulk) };
    let record = play(vec![plan(free_address(), Source::Bulk), finite, late], timeline());
    let [bulk, finite, late] = &record.flows[..] else { panic!("three flows") };
    assert!(bulk.counted.delivered > 0 && !bulk.is_complete, "{bulk:?}");
    assert!(finite.is_complete && finite.broken.is_none(), "{finite:?}");
    assert!(late.established_at.unwrap() >= ms(60) && late.counted.delivered > 0, "{late:?}");
    let series = record.series.unwrap();
    assert_eq!(series.t_ns, [150, 150, 150, 300, 300, 300, 450, 450, 450, 500, 500, 500].map(|t| t * 1_000_000));
    assert_eq!(series.cwnd_bytes.len(), series.t_ns.len());
    let last = SenderPlan { start: ms(10_000), ..plan(free_address(), Source::Bulk) };
    let series = play(vec![last], timeline()).series.unwrap();
    assert_eq!(series.cwnd_bytes, [10 * PACKET.0; 4], "the initial window before there is a connection");
}

#[test]
fn an_application_sends_no_faster_than_its_rate() {
    // 65,535 B every 10 ms; the first packet is sent at once.
    let rate = Rate::from_bytes_per_sec(6_553_500);
    let record = play(vec![plan(free_address(), Source::Rate { rate })], Timeline { warmup: Time::ZERO, ..timeline() });
    let delivered = record.flows[0].counted.delivered;
    assert!((1..=51).contains(&delivered), "{delivered} segments");
}

#[test]
fn a_flow_that_stops_has_sent_all_that_it_wrote() {
    let stopping = SenderPlan { stop: ms(40), ..plan(free_address(), Source::Bulk) };
    let record = play(vec![stopping], timeline());
    let series = record.series.unwrap();
    assert_eq!(*series.inflight_bytes.last().unwrap(), 0);
    assert!(!record.flows[0].is_complete, "bulk has no end to reach");
}

#[test]
fn a_rejected_connection_is_reported_and_not_fatal() {
    let prepare = |_: usize, _: BorrowedFd<'_>| -> io::Result<()> { Ok(()) };
    let plans = vec![plan(free_address(), Source::Bulk)];
    let senders = Senders::new(plans, timeline(), Clock::starting_now(), &prepare).unwrap();
    let record = senders.run(&AtomicBool::new(false)).unwrap();
    assert!(record.flows[0].broken.as_deref().unwrap().contains("refused"), "{:?}", record.flows[0]);
}

#[test]
fn an_unknown_congestion_control_names_its_flow() {
    let prepare = |_: usize, fd: BorrowedFd<'_>| socket2::SockRef::from(&fd).set_tcp_congestion(b"no-such-cca");
    let plans = vec![plan(free_address(), Source::Bulk)];
    let senders = Senders::new(plans, timeline(), Clock::starting_now(), &prepare).unwrap();
    let error = senders.run(&AtomicBool::new(false)).unwrap_err();
    assert_eq!((error.flow, error.action), (Some(0), "set the congestion control"));
}
