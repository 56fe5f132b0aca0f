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
    for pairs in [1, 2] { for ms in [5u64, 10, 20, 30, 60] {
        print!("two {pairs} {ms}:");
        for seed in 1..=4 { for (a,b) in [(0,60),(60,120),(240,300)] {
            let mut f = flow("pcc_vivace"); f.params = json!({"pairs": pairs});
            let mut g = flow("pcc_vivace"); g.params = json!({"pairs": pairs}); g.reverse = json!([{"kind":"periodic-release","period": ms * 1_000_000}]);
            let s = play(120, 60, 2.0, (a,b), seed, &[f,g]);
            print!(" {:?}", s.flows.iter().map(|f| (f.throughput_mbps*10.0).round()/10.0).collect::<Vec<_>>());
        } print!(" |"); }
        println!();
    }}
}
