//! Cost of processing an ACK in each algorithm: `cargo bench -p fairweir-native`.
//!
//! Budget: 35 ns for each ACK in C, including the native interface (docs/derivations.md).

use divan::Bencher;
use divan::counter::ItemsCount;
use fairweir_cca::{Ack, Context, RateSample, Sender, Start};
use fairweir_native::registry;
use fairweir_units::{Bytes, Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

const MSS: Bytes = Bytes(1500);
const ACKS: u64 = 100_000;

fn main() {
    divan::main();
}

fn names() -> Vec<&'static str> {
    registry::algorithms().map(|a| a.name).collect()
}

/// In-order ACKs, one per packet, of a flow with 100 packets in flight on 48 Mbps and a varying queue.
#[divan::bench(args = names())]
fn on_ack(bencher: Bencher<'_, '_>, name: &str) {
    let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 1 };
    bencher.counter(ItemsCount::new(ACKS)).bench_local(|| {
        let mut cc = registry::build(name, &Value::Null, &start).expect("defaults build");
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut sender = Sender::new(MSS);
        sender.snd_nxt = 100;
        let mut total = 0;
        for i in 0..ACKS {
            let now = Time::from_nanos(25_000_000 + i * 250_000);
            let rtt = Dur::from_micros(25_000 + i % 10_000);
            sender.snd_una = i + 1;
            sender.snd_nxt = i + 101;
            sender.delivered = i + 1;
            sender.srtt = rtt;
            sender.min_rtt = sender.min_rtt.min(rtt);
            sender.is_cwnd_limited = true;
            let rate = RateSample {
                delivered: 100,
                interval: rtt,
                prior_delivered: (i + 1).saturating_sub(100),
                is_app_limited: false,
            };
            let ack = Ack {
                acked: 1,
                cum_acked: 1,
                lost: 0,
                marked: 0,
                prior_inflight: 101,
                rtt: Some(rtt),
                newest: Some(i),
                newest_sent: now - rtt,
                rate,
                sender: &sender,
            };
            cc.on_ack(&ack, &mut Context { now, rng: &mut rng });
            total += cc.cwnd().0 + cc.pacing_rate().map_or(0, |r| r.bytes_per_sec());
        }
        total
    });
}
