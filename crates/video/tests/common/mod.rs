//! Networks and a table for tests.
#![allow(dead_code)]

use fairweir_video::{Config, Outcome, Table, play};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// A link for the tests.
pub struct LinkSpec {
    pub name: &'static str,
    pub link: Value,
    pub limit_packets: Option<u64>,
}

impl LinkSpec {
    pub fn fixed(mbps: u64) -> LinkSpec {
        LinkSpec { name: "fixed", link: json!({"kind": "constant", "rate": mbps * 125_000}), limit_packets: None }
    }

    /// Returns a link that alternates between 6 Mbps for 48 s and 1.5 Mbps for 48 s.
    pub fn varying() -> LinkSpec {
        let steps: Vec<Value> = (0..20u64)
            .map(|i| json!({"at": i * 48_000_000_000u64, "rate": if i % 2 == 0 { 750_000 } else { 187_500 }}))
            .collect();
        LinkSpec { name: "varying", link: json!({"kind": "steps", "steps": steps}), limit_packets: None }
    }

    /// Returns a link that releases 8 packets every 50 ms.
    pub fn aggregation() -> LinkSpec {
        let link = json!({"kind": "trace", "opportunities": vec![50_000_000u64; 8], "bytes": 1504});
        LinkSpec { name: "aggregation", link, limit_packets: None }
    }

    pub fn shallow() -> LinkSpec {
        LinkSpec { name: "shallow", limit_packets: Some(7), ..LinkSpec::fixed(3) }
    }

    /// Returns a link from a mahimahi trace.
    pub fn trace(name: &'static str, text: &str) -> LinkSpec {
        let times: Vec<u64> = text.lines().map(|l| l.trim().parse::<u64>().unwrap() * 1_000_000).collect();
        LinkSpec { name, link: json!({"kind": "trace", "opportunities": times, "bytes": 1504}), limit_packets: None }
    }
}

/// Returns a session of `secs` with a delay of 25 ms in each direction.
pub fn config(link: &LinkSpec, sender: &str, secs: u64, seed: u64) -> Config {
    let mut queue = json!({"kind": "droptail"});
    if let Some(limit) = link.limit_packets {
        queue["limit_packets"] = json!(limit);
    }
    let config = json!({
        "duration_ns": secs * 1_000_000_000,
        "fps": 30.0, "payload_bytes": 1400, "header_bytes": 40, "encode_ns": 5_000_000, "decode_ns": 5_000_000,
        "encoder_spread": 0.1, "encoder_factors": [0.6, 1.3], "seed": seed, "frames": true, "explain": true,
        "network": {"hop": {"link": link.link, "queue": queue}, "forward_ns": 25_000_000, "back_ns": 25_000_000},
        "sender": serde_json::from_str::<Value>(sender).unwrap(),
    });
    serde_json::from_value(config).unwrap()
}

pub fn outcome(config: &Config) -> Outcome {
    play(config, table(), &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Returns a table from a rate-distortion formula: a frame has 30 kB at QP 20, halved every 6 QPs; SSIM 22 dB at QP 20,
/// decreasing by 0.45 dB per QP.
pub fn table() -> Table {
    let frames = 21;
    let qps: Vec<f64> = (0..11).map(|i| 20.0 + 3.0 * f64::from(i)).collect();
    let cube = |value: &dyn Fn(u32, f64, usize) -> f64| -> Vec<Vec<Vec<f64>>> {
        (1..=4).map(|s| qps.iter().map(|&q| (0..frames).map(|f| value(s, q, f)).collect()).collect()).collect()
    };
    let bytes = cube(&|s, q, f| {
        let wave = 1.0 + 0.1 * ((f % 7) as f64 - 3.0) / 3.0;
        (30_000.0 * 2f64.powf(-(q - 20.0) / 6.0) * (1.0 + 0.15 * f64::from(s - 1)) * wave).round().max(40.0)
    });
    let ssim = cube(&|_, q, _| 1.0 - 10f64.powf(-(22.0 - 0.45 * (q - 20.0)) / 10.0));
    let frozen: Vec<Vec<f64>> = (1..=12).map(|k| vec![1.0 - 0.03 * f64::from(k).min(10.0); frames]).collect();
    let json = json!({"format": "fairweir-video-table-1", "content": "formula", "codec": "none", "fps": 30.0, "qps": qps,
        "strides": [1, 2, 3, 4], "bytes": bytes, "ssim": ssim, "frozen": frozen});
    Table::parse(&json.to_string()).unwrap()
}
