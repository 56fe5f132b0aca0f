//! Measures the emulator's accuracy on this machine: `cargo run --release -p fairweir-emu --example precision [seconds
//! [mbps]]`.
//!
//! Targets on an idle machine: a 99th percentile of the release error of at most 0.1 ms at 100 Mbps and 0.2 ms at 300
//! Mbps; a goodput of 900 Mbps at 1 Gbps in TSO mode; an added RTT with a median below 0.1 ms and a 99th percentile
//! below 0.3 ms.

use fairweir_emu::{EmuError, Emulator, EmulatorOptions, EmulatorRecord, Network, PacketMode, address};
use fairweir_scenario::Config;
use nix::sys::socket::sockopt::{ReceiveTimestampns, TcpCongestion};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::ffi::OsString;
use std::io::{IoSliceMut, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

const MTU: PacketMode = PacketMode::Mtu { burst: 1 };
const TSO: PacketMode = PacketMode::Tso { segments: 44 };

/// Pause between two reads of a receiver.
const READ_PAUSE: Duration = Duration::from_millis(2);

/// One row of the table: a mode, a rate, a CCA and a number of flows.
struct Trial {
    mode: PacketMode,
    mbps: u64,
    cca: &'static str,
    flows: usize,
}

fn config(trial: &Trial, seconds: u64, rtprop_ms: u64) -> Config {
    let rate = trial.mbps * 125_000;
    // One BDP of buffer, but at least 150,000 bytes.
    let limit = (rate * rtprop_ms / 1000).max(150_000);
    let flow = |k: usize| {
        serde_json::json!({
            "id": k.to_string(), "cca": trial.cca, "path": [0], "forward_delay": 0,
            "reverse_delay": rtprop_ms * 1_000_000, "rtprop": rtprop_ms * 1_000_000,
        })
    };
    serde_json::from_value(serde_json::json!({
        "duration": seconds * 1_000_000_000, "warmup": 1_000_000_000, "seed": 1,
        "links": [{"name": "bottleneck", "hop": {
            "link": {"kind": "constant", "rate": rate}, "queue": {"kind": "droptail", "limit": limit}}}],
        "flows": (0..trial.flows).map(flow).collect::<Vec<_>>(),
    }))
    .expect("the configuration is well-formed")
}

/// Runs `trial` with bulk flows.
fn bulk(trial: &Trial, seconds: u64) -> Result<EmulatorRecord, EmuError> {
    let config = config(trial, seconds, 20);
    let network = Network::new(&config, trial.mode)?;
    let running = Emulator::start(&config, &network, EmulatorOptions::default())?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let listeners: Vec<TcpListener> = network.receivers().enter(|| {
        let listen = |k| TcpListener::bind(SocketAddrV4::new(address::receiver(k), address::PORT));
        (0..trial.flows).map(|k| listen(k).expect("the port is free")).collect()
    })?;
    running.go();
    thread::scope(|scope| {
        for listener in listeners {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().expect("the sender connects");
                let mut buffer = vec![0; 1 << 20];
                // Pause between reads: a receiver that wakes up for every packet would cost the emulator more than the
                // packet itself.
                while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
                    thread::sleep(READ_PAUSE);
                }
            });
        }
        for k in 0..trial.flows {
            let network = &network;
            scope.spawn(move || {
                network.senders().join().expect("the namespace can be entered");
                let to = SocketAddrV4::new(address::receiver(k), address::PORT);
                let mut stream = TcpStream::connect(to).expect("the receiver listens");
                setsockopt(&stream, TcpCongestion, &OsString::from(trial.cca)).expect("the kernel has this CCA");
                let buffer = vec![0; 1 << 18];
                while Instant::now() < end && stream.write(&buffer).is_ok() {}
                // With a zero linger time, closing the socket may discard unsent data.
                SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("SO_LINGER can be set");
            });
        }
    });
    running.stop()
}

/// Measures the RTTs of single packets through an otherwise idle path of 100 Mbps and 20 ms; returns them minus the
/// configured delay, µs.
///
/// The receiver's kernel answers an ICMP echo request, and the sender's kernel stamps the reply, so the RTT contains no
/// wake-up of a process.
fn pings(count: usize) -> Result<Vec<f64>, EmuError> {
    let trial = Trial { mode: MTU, mbps: 100, cca: "reno", flows: 1 };
    let config = config(&trial, count as u64 / 20 + 5, 20);
    let network = Network::new(&config, trial.mode)?;
    let running = Emulator::start(&config, &network, EmulatorOptions::default())?;
    let socket = network.senders().enter(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)))?;
    let socket = socket.expect("root may open a raw socket");
    socket.connect(&SocketAddrV4::new(address::receiver(0), 0).into()).expect("the route is there");
    setsockopt(&socket, ReceiveTimestampns, &true).expect("arrivals can be stamped");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout can be set");
    running.go();
    // Serialization of 1500 B at 100 Mbps, plus 20 ms.
    let intended_us = 1500.0 * 8.0 / 100.0 + 20_000.0;
    // An echo request: type 8, the checksum, and zeros.
    let mut request = [0; 1500 - 20];
    (request[0], request[2]) = (8, !8);
    request[3] = 0xFF;
    let mut errors_us = Vec::new();
    for _ in 0..count {
        let sent = clock_gettime(ClockId::CLOCK_REALTIME).expect("there is a clock");
        socket.send(&request).expect("the packet leaves");
        let arrived = arrival(&socket);
        errors_us.push((arrived - sent).num_nanoseconds() as f64 / 1e3 - intended_us);
        thread::sleep(Duration::from_micros(errors_us.len() as u64 * 37 % 1000));
    }
    running.stop()?;
    errors_us.sort_by(f64::total_cmp);
    Ok(errors_us)
}

/// Receives a packet and returns the kernel's timestamp of its arrival at the socket.
fn arrival(socket: &Socket) -> TimeSpec {
    let mut buffer = [0; 2048];
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let mut control = nix::cmsg_space!(TimeSpec);
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty());
    let messages = received.expect("the echo comes back");
    let stamp = messages.cmsgs().expect("the stamp fits").find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    stamp.expect("the arrival is stamped")
}

fn main() -> Result<(), EmuError> {
    let argument = |k| std::env::args().nth(k).and_then(|text| text.parse::<u64>().ok());
    let seconds = argument(1).unwrap_or(10);
    let trials = [
        Trial { mode: MTU, mbps: 20, cca: "cubic", flows: 1 },
        Trial { mode: MTU, mbps: 100, cca: "cubic", flows: 1 },
        Trial { mode: MTU, mbps: 100, cca: "bbr", flows: 1 },
        Trial { mode: MTU, mbps: 100, cca: "cubic", flows: 4 },
        Trial { mode: MTU, mbps: 300, cca: "cubic", flows: 1 },
        Trial { mode: MTU, mbps: 300, cca: "bbr", flows: 2 },
        Trial { mode: TSO, mbps: 1000, cca: "cubic", flows: 1 },
        Trial { mode: TSO, mbps: 1000, cca: "bbr", flows: 4 },
    ];
    println!("mode  mbps  cca    flows  goodput_mbps  p50_us  p90_us  p99_us  p999_us  max_us  wake_p99_us  cpu");
    for trial in trials.iter().filter(|trial| argument(2).is_none_or(|mbps| mbps == trial.mbps)) {
        let record = bulk(trial, seconds)?;
        let bytes: u64 = record.flows.iter().map(|flow| flow.delivered_bytes - 52 * flow.delivered_pkts).sum();
        let goodput = bytes as f64 * 8e-6 / (record.end.as_secs_f64() - 1.0);
        let (error, accuracy) = (record.accuracy.release_error_us, &record.accuracy);
        println!(
            "{:4}  {:4}  {:5}  {:5}  {goodput:12.1}  {:6.1}  {:6.1}  {:6.1}  {:7.1}  {:6.0}  {:11.1}  {:.2}",
            accuracy.mode,
            trial.mbps,
            trial.cca,
            trial.flows,
            error.p50,
            error.p90,
            error.p99,
            error.p999,
            error.max,
            accuracy.wake_error_us.p99,
            accuracy.cpu_fraction,
        );
    }
    let errors = pings(40 * seconds as usize)?;
    let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
    println!(
        "added RTT, {} pings: median {:.1} us, p99 {:.1} us, max {:.1} us",
        errors.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}
