//! Plain TCP senders and receivers with an emulator, without the rest of the kernel world.

use fairweir_emu::{Emulator, EmulatorOptions, EmulatorRecord, Network, PacketMode, address};
use fairweir_scenario::Config;
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use serde_json::{Value, json};
use socket2::SockRef;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Amount of data per flow.
#[derive(Clone, Copy, Debug)]
pub enum Bulk {
    /// Unlimited data until the run ends.
    UntilTheEnd,
    /// A fixed number of bytes.
    Bytes(usize),
}

/// Returns a scenario of `flows` flows over a link of `mbps` with 20 ms of delay and a buffer of 50 ms; the warm-up
/// takes 1 s.
pub fn config(mbps: u64, seconds: u64, flow: Value, flows: usize) -> Config {
    let rate = mbps * 125_000;
    let flows: Vec<Value> = (0..flows)
        .map(|id| {
            let mut spec = json!({
                "id": id.to_string(), "cca": "cubic", "path": [0], "forward_delay": 10_000_000,
                "reverse_delay": 10_000_000, "rtprop": 20_000_000,
            });
            let settings = flow.as_object().expect("an object").clone();
            spec.as_object_mut().expect("an object").extend(settings);
            spec
        })
        .collect();
    serde_json::from_value(json!({
        "duration": seconds * 1_000_000_000, "warmup": if seconds > 1 { 1_000_000_000 } else { 0 }, "seed": 1,
        "links": [{"name": "link", "hop": {
            "link": {"kind": "constant", "rate": rate}, "queue": {"kind": "droptail", "limit": rate / 20}}}],
        "flows": flows,
    }))
    .expect("a configuration")
}

/// Runs `config` with one connection per flow; all connections start at the beginning.
pub fn play(config: &Config, mode: PacketMode, cca: &str, bulk: Bulk) -> EmulatorRecord {
    let network = Network::new(config, mode).expect("root may");
    let running = Emulator::start(config, &network, EmulatorOptions::default()).expect("root may");
    let flows = config.flows.len();
    let listen = |flow| TcpListener::bind(SocketAddrV4::new(address::receiver(flow), address::PORT));
    let listeners: Vec<TcpListener> = network
        .receivers()
        .enter(|| (0..flows).map(|flow| listen(flow).expect("a free port")).collect())
        .expect("root may");
    let clock = running.go();
    let end = Instant::now() + Duration::from_nanos(config.duration.as_nanos()) + Duration::from_millis(50);
    thread::scope(|scope| {
        for listener in listeners {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().expect("the sender connects");
                let mut buffer = vec![0; 1 << 20];
                while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
                    thread::sleep(Duration::from_millis(2));
                }
            });
        }
        for flow in 0..flows {
            let network = &network;
            scope.spawn(move || {
                network.senders().join().expect("root may");
                let to = SocketAddrV4::new(address::receiver(flow), address::PORT);
                let mut stream = TcpStream::connect(to).expect("the receiver listens");
                setsockopt(&stream, TcpCongestion, &OsString::from(cca)).expect("the kernel has this CCA");
                match bulk {
                    Bulk::Bytes(bytes) => stream.write_all(&vec![0; bytes]).expect("the connection stands"),
                    Bulk::UntilTheEnd => {
                        let buffer = vec![0; 1 << 16];
                        while Instant::now() < end && stream.write(&buffer).is_ok() {}
                        // With a zero linger time, closing the socket may discard unsent data.
                        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("a socket");
                    }
                }
            });
        }
    });
    clock.sleep_until(fairweir_units::Time::ZERO + config.duration);
    running.stop().expect("the devices work")
}
