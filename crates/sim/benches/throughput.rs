//! Packets per second on the workloads of the speed comparison: `cargo bench -p fairweir-sim`.

#[path = "workloads/mod.rs"]
mod workloads;

use divan::Bencher;
use divan::counter::ItemsCount;
use fairweir_scenario::Config;
use fairweir_units::Dur;

fn main() {
    divan::main();
}

/// Counts delivered and acknowledged data packets of one run after another.
fn bench(bencher: Bencher<'_, '_>, config: Config) {
    let packets = workloads::run(&config).expect("the workload runs").summary.packets;
    bencher.counter(ItemsCount::new(packets)).bench_local(|| workloads::run(&config));
}

#[divan::bench(args = ["reno", "cubic", "bbr"], sample_count = 20)]
fn w1_min_8_flows(bencher: Bencher<'_, '_>, cca: &str) {
    bench(bencher, workloads::w1_min(cca, 8, Dur::from_secs(60)));
}

#[divan::bench(args = [1, 64], sample_count = 10)]
fn w1_min_reno(bencher: Bencher<'_, '_>, flows: usize) {
    bench(bencher, workloads::w1_min("reno", flows, Dur::from_secs(60)));
}

#[divan::bench(args = ["reno", "cubic"], sample_count = 10)]
fn w1_full_8_flows(bencher: Bencher<'_, '_>, cca: &str) {
    bench(bencher, workloads::w1_full(cca, 8, Dur::from_secs(60)));
}

#[divan::bench(args = [2, 8], sample_count = 20)]
fn w2_min_dctcp(bencher: Bencher<'_, '_>, flows: usize) {
    bench(bencher, workloads::w2_min("dctcp", flows, Dur::from_millis(100)));
}

#[divan::bench(sample_count = 5)]
fn w3_1024_flows(bencher: Bencher<'_, '_>) {
    bench(bencher, workloads::w3("reno", Dur::from_secs(2)));
}

#[divan::bench(args = [10_000, 100_000], sample_count = 3)]
fn many_flows(bencher: Bencher<'_, '_>, flows: usize) {
    bench(bencher, workloads::many("reno", flows, Dur::from_secs(3)));
}
