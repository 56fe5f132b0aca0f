//! PCC on whole simulations.
use fairweir_sim::{Config, Summary, run};
use serde_json::{Value, json};

struct Flow { cca: &'static str, params: Value, loss_per_billion: u32, reverse: Value }
fn flow(cca: &'static str) -> Flow { Flow { cca, params: Value::Null, loss_per_billion: 0, reverse: json!([]) } }

fn play(mbps: u64, rtprop_ms: u64, buffer_bdp: f64, secs: (u64, u64), seed: u64, flows: &[Flow]) -> Summary {
    let rate = mbps * 125_000;
    let rtprop = rtprop_ms * 1_000_000;
    let limit = ((rate as f64) * rtprop_ms as f64 / 1e3 * buffer_bdp) as u64;
    let flows: Vec<Value> = flows.iter().enumerate().map(|(i, f)| {
        let ingress = if f.loss_per_billion > 0 { json!([{"kind":"iid-loss","per_billion":f.loss_per_billion}]) } else { json!([]) };
        json!({"id": format!("f{i}"), "cca": f.cca, "params": f.params, "path": [0], "ingress": ingress,
          "forward_delay": rtprop / 2, "reverse_delay": rtprop / 2, "reverse": f.reverse, "rtprop": rtprop})
    }).collect();
    let config: Config = serde_json::from_value(json!({
        "duration": secs.1 * 1_000_000_000, "warmup": secs.0 * 1_000_000_000, "seed": seed,
        "links": [{"name": "bottleneck", "hop": {"link": {"kind":"constant","rate": rate}, "queue": {"kind":"droptail","limit": limit}}}],
        "flows": flows,
    })).expect("a valid configuration");
    run(&config).expect("a run that ends well").summary
}

#[test]
fn explore() {
    for pairs in [1, 2] { for (mbps, rtprop) in [(6,60),(12,40),(24,40),(48,40),(96,20),(96,80),(120,60),(1000,40),(10000,20)] {
        print!("alone {pairs} {mbps} {rtprop}:");
        for seed in 1..=3 {
            let mut f = flow("pcc_vivace"); f.params = json!({"pairs": pairs});
            let s = play(mbps, rtprop, 2.0, (20,if mbps > 1000 {30} else {60}), seed, &[f]);
            let r = &s.flows[0]; let b = rtprop as f64;
            print!(" {:.3} rtt {:.3} {:.3} {:.3} {:.3} {:.3} loss {:.4}", r.throughput_mbps/mbps as f64, r.rtt_ms.mean/b, r.rtt_ms.p50/b, r.rtt_ms.p95/b, r.rtt_ms.p99/b, r.rtt_ms.max/b, r.loss_rate);
        }
        println!();
    }}
    for pairs in [1, 2] { for n in [2, 4] {
        print!("two {pairs} {n}:");
        for seed in 1..=3 { for (a,b) in [(0,60),(60,120),(240,300)] {
            let fs: Vec<Flow> = (0..n).map(|_| { let mut f = flow("pcc_vivace"); f.params = json!({"pairs": pairs}); f}).collect();
            let s = play(120, 60, 2.0, (a,b), seed, &fs);
            print!(" {:?}", s.flows.iter().map(|f| f.throughput_mbps.round()).collect::<Vec<_>>());
        } print!(" |"); }
        println!();
    }}
}
