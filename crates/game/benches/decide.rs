//! Measures the time of a decision of 10 plies (5 moves of each side), as the mean over the states of sessions on fixed
//! links. The budgets on one core are 5 ms for congestion control alone and 25 ms with frames and repair.
//!
//! ```text
//! cargo bench -p fairweir-game --bench decide
//! ```

use divan::Bencher;
use divan::counter::ItemsCount;
use fairweir_game::play::{Jitter, Policy, Session, play};
use fairweir_game::query::Query;
use fairweir_game::state::Situation;

fn main() {
    divan::main();
}

fn query(name: &str) -> Query {
    let path = format!("{}/../../queries/game/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut all: toml::Table =
        toml::from_str(&std::fs::read_to_string(path).expect("a query of the repository")).expect("TOML");
    all.remove("sampling");
    all.remove("tree");
    Query::from_json(&serde_json::to_string(&all).expect("JSON")).expect("a query")
}

/// The states of a session of 20 steps on a link of 12.5 packets per step.
fn states(query: &Query, b: f64, jitter: Jitter) -> Vec<Situation> {
    let session = Session {
        c: 12.5,
        b,
        steps: 20,
        jitter,
        change_at: None,
        changed_c: None,
        warm_up: 0,
        noise: 0.0,
        encoder_noise: true,
        seed: 1,
    };
    let mut states = vec![];
    play(&Query { depth: 3, ..query.clone() }, &session, Policy::Search, |row| states.push(row.situation));
    states
}

/// A session's 20 decisions. Divide the time by 20, or read items per second as decisions per second.
#[divan::bench(args = ["bulk", "conference", "cloud-gaming", "live"], consts = [3, 4, 5], sample_count = 3, sample_size = 1)]
fn deep_buffer<const DEPTH: u32>(bencher: Bencher, name: &str) {
    bench(bencher, name, DEPTH, 200.0, Jitter::None);
}

#[divan::bench(args = ["bulk", "conference"], sample_count = 3, sample_size = 1)]
fn seven_packets_of_buffer(bencher: Bencher, name: &str) {
    bench(bencher, name, 5, 7.0, Jitter::None);
}

#[divan::bench(args = ["bulk", "conference"], sample_count = 3, sample_size = 1)]
fn jittery(bencher: Bencher, name: &str) {
    bench(bencher, name, 5, 200.0, Jitter::Extreme);
}

fn bench(bencher: Bencher, name: &str, depth: u32, b: f64, jitter: Jitter) {
    let query = Query { depth, ..query(name) };
    let states = states(&query, b, jitter);
    bencher
        .counter(ItemsCount::new(states.len()))
        .bench(|| states.iter().filter_map(|s| s.search(&query)).map(|mut search| search.decide().nodes).sum::<u64>());
}
