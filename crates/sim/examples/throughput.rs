//! Runs one workload of the speed comparison and prints packets per second; run it under `perf stat` for instructions
//! per packet: `throughput w1-min reno 8 60`. `throughput FILE` runs a scenario in base units, as JSON.

#[path = "../benches/workloads/mod.rs"]
mod workloads;

use fairweir_scenario::Config;
use fairweir_units::Dur;
use std::time::Instant;

fn workload(name: &str, cca: &str, flows: &str, seconds: &str) -> Config {
    let flows = flows.parse().expect("a number of flows");
    let duration = Dur::from_secs_f64(seconds.parse().expect("a number of seconds"));
    match name {
        "w1-min" => workloads::w1_min(cca, flows, duration),
        "w1-full" => workloads::w1_full(cca, flows, duration),
        "w2-min" => workloads::w2_min(cca, flows, duration),
        "w3" => workloads::w3(cca, duration),
        "many" => workloads::many(cca, flows, duration),
        _ => panic!("no workload `{name}`"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (name, config) = match args[..] {
        [name, cca, flows, seconds] => (format!("{name} {cca}"), workload(name, cca, flows, seconds)),
        [file] => {
            let text = std::fs::read_to_string(file).expect("a readable file");
            (file.to_owned(), serde_json::from_str(&text).expect("a scenario in base units"))
        }
        _ => {
            eprintln!(
                "usage: throughput w1-min|w1-full|w2-min|w3|many CCA FLOWS SIMULATED_SECONDS, or throughput FILE"
            );
            std::process::exit(2);
        }
    };
    let started = Instant::now();
    let outcome = workloads::run(&config).expect("the workload runs");
    let wall = started.elapsed().as_secs_f64();
    let summary = outcome.summary;
    println!(
        "{name} flows={}: {} packets, {} events, {:.3} s, {:.2} Mpkt/s, {:.1} ns/pkt, utilization {:.4}",
        summary.flows.len(),
        summary.packets,
        summary.events,
        wall,
        summary.packets as f64 / wall / 1e6,
        wall * 1e9 / summary.packets as f64,
        summary.links[0].utilization,
    );
    if std::env::var_os("VERBOSE").is_some() {
        for f in &summary.flows {
            println!("{f:?}");
        }
        println!("{:?}", summary.links);
    }
}
