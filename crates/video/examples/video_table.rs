//! Prints delay, quality and frame rate of senders over the four networks of the evaluation and over traces.
//!
//! `cargo run --release -p fairweir-video --example video_table -- TABLE.json SECONDS SENDER.. [-- TRACE..]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{LinkSpec, config};
use fairweir_video::{Table, play};
use std::ops::ControlFlow;
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let table =
        Table::parse(&std::fs::read_to_string(args.next().expect("a table")).expect("readable")).expect("a table");
    let secs: u64 = args.next().expect("seconds").parse().expect("seconds");
    let rest: Vec<String> = args.collect();
    let split = rest.iter().position(|a| a == "--").unwrap_or(rest.len());
    let mut links = vec![LinkSpec::fixed(3), LinkSpec::varying(), LinkSpec::aggregation(), LinkSpec::shallow()];
    for path in rest.iter().skip(split + 1) {
        let name: &'static str = Box::leak(path.rsplit('/').next().unwrap_or(path).to_owned().into_boxed_str());
        links.push(LinkSpec::trace(name, &std::fs::read_to_string(path).expect("readable")));
    }
    for link in &links {
        println!("{}", link.name);
        for sender in &rest[..split] {
            let json = if sender.starts_with('{') { sender.clone() } else { format!(r#"{{"kind": "{sender}"}}"#) };
            let mut config = config(link, &json, secs, 1);
            (config.explain, config.frames) = (std::env::var("EXPLAIN").is_ok(), std::env::var("EXPLAIN").is_ok());
            let started = Instant::now();
            let out = play(&config, table.clone(), &mut |_| ControlFlow::Continue(())).expect("played");
            let (m, t) = (out.metrics, out.traffic);
            println!(
                "  {:10.10} p50 {:5.0} p95 {:6.0} ms  ssim p25 {:5.2} p50 {:5.2} mean {:5.2} dB  fps {:5.2}  use {:.3} loss {:.3} repair {:.3} skipped {} recov {} {:.2}s",
                sender.trim_start_matches("{\"kind\":\""),
                m.delay_p50_ms,
                m.delay_p95_ms,
                m.ssim_p25_db,
                m.ssim_p50_db,
                m.ssim_mean_db,
                m.fps,
                t.link_use,
                t.loss,
                t.repair,
                m.skipped,
                t.recoveries,
                started.elapsed().as_secs_f64()
            );
            if config.explain {
                let mut count = std::collections::BTreeMap::new();
                for d in &out.decisions {
                    *count.entry(format!("{} / {}", d.leaf, d.belief)).or_insert(0) += 1;
                }
                println!("    {count:?}");
                let n: usize = std::env::var("EXPLAIN").ok().and_then(|x| x.parse().ok()).unwrap_or(0);
                for d in out.decisions.iter().take(n) {
                    println!(
                        "    {:8.0} {:8} c [{:5.1} {:5.1}] q {:5.1} r0 {:5.1} P {:4.1} {:15} msg {} rep {} enc {:.0}",
                        d.at_ms,
                        d.leaf,
                        d.min_c,
                        d.max_c.unwrap_or(999.0),
                        d.max_q,
                        d.safe_rate,
                        d.backlog,
                        d.belief,
                        d.message,
                        d.repair,
                        d.encode_bytes
                    );
                }
            }
        }
    }
}
