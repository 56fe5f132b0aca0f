//! `cargo run --release -p fairweir-beliefs --example explain CAPTURE`: what a capture lets one believe of each flow's
//! path, a JSON document a flow. D is assumed to be at most twice the least that explains the flow.
#![allow(missing_docs)]

use fairweir_beliefs::{Flows, explain, rate_bounds};
use fairweir_capture::Reader;
use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: explain CAPTURE")?;
    let mut reader = Reader::new(File::open(path)?)?;
    let mut flows = Flows::default();
    while let Some(segment) = reader.next_segment()? {
        flows.add(&segment);
    }
    eprintln!("{:?}", reader.counts());
    for flow in flows.finish().iter().filter(|flow| flow.has_acks) {
        let belief = explain(&flow.packets, |least| 2.0 * least);
        let assumed = belief.as_ref().map_or(0, |b| b.jitter_assumed_ns as u64);
        let document = serde_json::json!({
            "src": flow.src.to_string(),
            "dst": flow.dst.to_string(),
            "view": flow.view,
            "first_frame": flow.first_frame,
            "packets": flow.packets.len(),
            "delivered_bytes": flow.delivered_bytes,
            "cbr_delay": belief,
            "ccac": rate_bounds(&flow.packets, assumed),
        });
        println!("{document}");
    }
    Ok(())
}
