//! Measures the cost of a decision: ten rows of twenty features through a forest of the size that `fairweir guard
//! train` produces.

use divan::Bencher;
use fairweir_guard::Trees;
use fairweir_guard::policy::Classify;
use serde_json::{Value, json};

const FEATURES: usize = 20;
const ROWS: usize = 10;
/// Number of decisions before rows repeat, so that branch prediction cannot learn them.
const DECISIONS: usize = 100;

fn main() {
    divan::main();
}

/// Pseudorandom numbers below 1 in a fixed order.
fn noise(i: u64) -> f64 {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / f64::from(1 << 24)
}

/// A balanced tree with the given number of leaves, the worst case for branch prediction.
fn tree(number: u64, leaves: usize) -> Value {
    let nodes = 2 * leaves - 1;
    let is_leaf = |i: usize| i >= leaves - 1;
    json!({
        "class": number % 3,
        "feature": (0..nodes).map(|i| if is_leaf(i) { -1 } else { ((i as i64) * 7 + number as i64) % FEATURES as i64 }).collect::<Vec<_>>(),
        "value": (0..nodes).map(|i| noise(number * 1000 + i as u64)).collect::<Vec<_>>(),
        "left": (0..nodes).map(|i| if is_leaf(i) { 0 } else { 2 * i + 1 }).collect::<Vec<_>>(),
        "right": (0..nodes).map(|i| if is_leaf(i) { 0 } else { 2 * i + 2 }).collect::<Vec<_>>(),
        "is_unknown_left": vec![true; nodes],
    })
}

fn forest(iterations: u64, leaves: usize) -> Trees {
    let features: Vec<String> = fairweir_guard::catalogue().iter().take(FEATURES).map(ToString::to_string).collect();
    let trees: Vec<Value> = (0..3 * iterations).map(|number| tree(number, leaves)).collect();
    Trees::from_json(&json!({"features": features, "baseline": [0.0, 0.0, 0.0], "trees": trees}).to_string())
        .expect("a forest")
}

#[divan::bench(args = [(40, 31), (100, 31), (100, 255)])]
fn ten_rows(bencher: Bencher<'_, '_>, (iterations, leaves): (u64, usize)) {
    let forest = forest(iterations, leaves);
    let cells: Vec<Option<f64>> = (0..DECISIONS * ROWS * FEATURES).map(|i| Some(noise(i as u64))).collect();
    let rows: Vec<&[Option<f64>]> = cells.chunks_exact(FEATURES).collect();
    let mut decisions = rows.chunks_exact(ROWS).cycle();
    bencher.bench_local(|| forest.classify(decisions.next().expect("they come again")));
}
