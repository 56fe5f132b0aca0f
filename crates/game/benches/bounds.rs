//! Measures the time to compute a window's bounds (`cargo bench -p fairweir-game`). One sample is 1000 random windows.

use divan::{Bencher, black_box};
use fairweir_game::link::random_window;
use fairweir_game::{LinkModel, Window, believe, exact_bounds, fast_bounds};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn main() {
    divan::main();
}

const WINDOWS: usize = 1000;

fn windows() -> Vec<Window> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    (0..WINDOWS).map(|_| random_window(&LinkModel::default(), &mut random).1).collect()
}

fn each<T>(bencher: Bencher, bounds: impl Fn(&Window, &LinkModel) -> T) {
    let (windows, model) = (windows(), LinkModel::default());
    bencher.counter(divan::counter::ItemsCount::new(WINDOWS)).bench_local(|| {
        for w in &windows {
            black_box(bounds(black_box(w), &model));
        }
    });
}

#[divan::bench]
fn fast(bencher: Bencher) {
    each(bencher, fast_bounds);
}

#[divan::bench]
fn exact(bencher: Bencher) {
    each(bencher, exact_bounds);
}

#[divan::bench]
fn belief(bencher: Bencher) {
    each(bencher, believe);
}
