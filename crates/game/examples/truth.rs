//! Measures how often the true link is outside the exact and the fast bounds of random windows, and the computation
//! times.
//!
//! `cargo run --release -p fairweir-game --example truth -- 100000`

use std::time::Instant;

use fairweir_game::link::{Link, random_window};
use fairweir_game::{Bounds, LinkModel, Window, exact_bounds, fast_bounds};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const CLOSE: f64 = 1e-5;

#[derive(Default)]
struct Count {
    empty: usize,
    c: usize,
    b: usize,
    q: usize,
    safe_rate: usize,
    worst: f64,
}

fn main() {
    let number =
        |at: usize, default: u64| std::env::args().nth(at).map_or(default, |text| text.parse().expect("a number"));
    let (count, seed) = (number(1, 100_000), number(2, 7));
    let model = LinkModel::default();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let windows: Vec<(Link, Window)> = (0..count).map(|_| random_window(&model, &mut random)).collect();
    let hidden = windows.iter().filter(|(_, w)| w.visible == 0).count();
    println!("{count} windows, seed {seed}; first point's losses unknown in {hidden}");
    let mut gaps = 0;
    report("exact", &windows, |w| {
        exact_bounds(w, &model).map(|found| {
            gaps += usize::from(found.gap.is_some());
            found.bounds
        })
    });
    println!("C has a gap in {gaps}");
    report("fast", &windows, |w| fast_bounds(w, &model));
}

fn report(name: &str, windows: &[(Link, Window)], mut bounds: impl FnMut(&Window) -> Option<Bounds>) {
    let start = Instant::now();
    let all: Vec<Option<Bounds>> = windows.iter().map(|(_, w)| bounds(w)).collect();
    let mean = start.elapsed().as_secs_f64() * 1e6 / windows.len() as f64;
    let mut outside = Count::default();
    for ((link, w), bounds) in windows.iter().zip(all) {
        let Some(bounds) = bounds else {
            outside.empty += 1;
            continue;
        };
        let mut next = link.clone();
        next.step(w.sent_next - w.sent[w.len - 1], 1.0);
        let q = next.queue();
        outside.c += usize::from(!bounds.c.contains(link.c, CLOSE));
        outside.b += usize::from(!bounds.b.contains(link.b, CLOSE));
        outside.q += usize::from(!bounds.q.contains(q, CLOSE));
        let room = link.c + link.b - q;
        outside.safe_rate += usize::from(bounds.safe_rate > room + CLOSE);
        outside.worst = outside.worst.max((bounds.safe_rate - room) / link.c);
    }
    println!(
        "{name}: {mean:.2} us a window; falsely empty {}; truth outside C {} B {} q {}; safe rate too high {} (by up to {:.2} C)",
        outside.empty,
        outside.c,
        outside.b,
        outside.q,
        outside.safe_rate,
        outside.worst.max(0.0)
    );
}
