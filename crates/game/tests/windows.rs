//! Properties of beliefs for random windows of links that satisfy the model: the belief contains the link.

use fairweir_game::link::{Link, random_window};
use fairweir_game::{Fact, LinkModel, POINTS, Window, corners, exact_bounds, fast_bounds, initial_service, slice};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const CLOSE: f64 = 1e-4;

fn windows(count: usize) -> impl Iterator<Item = (Link, Window)> {
    let mut random = ChaCha8Rng::seed_from_u64(15);
    (0..count).map(move |_| random_window(&LinkModel::default(), &mut random))
}

#[test]
fn the_true_link_explains_its_window() {
    let model = LinkModel::default();
    let mut hidden_first = 0;
    let mut losses = 0;
    for (link, w) in windows(5000) {
        let truth = slice(&w, &model, link.c).unwrap_or_else(|| panic!("no slice at {}: {w:?}", link.c));
        assert!(truth.b.contains(link.b, CLOSE), "{truth:?} {link:?} {w:?}");
        assert!(initial_service(&w, &model, link.c, link.b).is_some(), "{link:?} {w:?}");
        hidden_first += usize::from(w.visible == 0);
        losses += usize::from(w.visible > 0 && w.lost[w.visible - 1] > w.lost[0]);
    }
    assert!(losses > 500, "{losses} windows with a visible loss");
    assert!(hidden_first > 0, "no window whose first point's losses are unknown");
}

#[test]
fn a_slice_has_the_buffers_that_have_an_initial_service() {
    let model = LinkModel::default();
    for (link, w) in windows(500) {
        let Some(found) = slice(&w, &model, link.c) else { panic!("{w:?}") };
        for i in 0..=60 {
            let b = model.b.min * (model.b.max / model.b.min).powf(f64::from(i) / 60.0);
            let explains = initial_service(&w, &model, link.c, b).is_some();
            assert!(!explains || found.b.contains(b, CLOSE), "b {b} explains, {found:?} {w:?}");
            let inside = found.b.contains(b, -CLOSE);
            assert!(explains || !inside, "b {b} is in {found:?}, explains nothing {w:?}");
        }
    }
}

#[test]
fn the_true_link_is_within_exact_bounds_and_its_capacity_within_fast_ones() {
    let model = LinkModel::default();
    for (link, w) in windows(20_000) {
        let exact = exact_bounds(&w, &model).unwrap_or_else(|| panic!("nothing explains {link:?} {w:?}"));
        let bounds = exact.bounds;
        let mut next = link.clone();
        next.step(w.sent_next - w.sent[w.len - 1], 1.0);
        assert!(bounds.c.contains(link.c, CLOSE), "{bounds:?} {link:?} {w:?}");
        assert!(bounds.b.contains(link.b, CLOSE), "{bounds:?} {link:?} {w:?}");
        assert!(bounds.q.contains(next.queue(), CLOSE), "{bounds:?} {link:?} {w:?}");
        assert!(bounds.safe_rate <= link.c + link.b - next.queue() + CLOSE, "{bounds:?} {link:?} {w:?}");
        assert!(bounds.min_c_plus_b <= link.c + link.b + CLOSE, "{bounds:?} {link:?} {w:?}");
        let fast = fast_bounds(&w, &model).expect("explains");
        let same = |one: f64, two: f64| (one - two).abs() < CLOSE;
        assert!(same(fast.c.min, bounds.c.min) && same(fast.c.max, bounds.c.max), "{fast:?} {exact:?} {w:?}");
        for (outer, inner) in [(bounds.b, fast.b), (bounds.q, fast.q)] {
            assert!(outer.min <= inner.min + CLOSE && inner.max <= outer.max + CLOSE, "{fast:?} {exact:?} {w:?}");
        }
        assert!(bounds.safe_rate <= fast.safe_rate + CLOSE);
        assert!(corners(&w, &model, None).is_some_and(|paths| !paths.is_empty()));
    }
}

#[test]
fn the_next_queue_is_between_the_extreme_trajectories_of_the_true_link() {
    let model = LinkModel::default();
    for (mut link, w) in windows(2000) {
        let [longest, shortest] = fairweir_game::extreme_trajectories(&w, &model, link.c, link.b).expect("explains");
        link.step(w.sent_next - w.sent[w.len - 1], 1.0);
        let q = link.queue();
        let range = shortest.queue_next() - CLOSE..=longest.queue_next() + CLOSE;
        assert!(range.contains(&q), "{q} {range:?} {link:?} {w:?}");
    }
}

#[test]
fn sliding_keeps_the_latest_points() {
    let mut w = Window::fresh();
    for step in 0..10 {
        let [path, _] = fairweir_game::extreme_trajectories(&w, &LinkModel::default(), 10.0, 5.0).expect("explains");
        let new = w.observe(&path, path.served[w.len]);
        w.slide(&new, 4.0);
        assert_eq!((w.len, w.visible), (POINTS, POINTS));
        assert_eq!(w.sent_next, 4.0 * f64::from(step + 1));
    }
    assert_eq!(w.sent, [16.0, 20.0, 24.0, 28.0, 32.0, 36.0]);
    assert_eq!(w.delivered, w.sent);
    let short = w.latest(3).expect("has three points");
    assert_eq!((short.len, short.visible, &short.sent[..3]), (3, 3, &[28.0, 32.0, 36.0][..]));
    assert_eq!(w.latest(7), None);
    assert_eq!(w.latest(0), None);
}

/// Returns C as computed from the two facts of a binding, or from one fact that counts from an empty queue; `None` for
/// other facts.
fn c_of(facts: [Option<Fact>; 2], w: &Window) -> Option<f64> {
    let s = |point: u8| w.delivered[usize::from(point)];
    let rate = |amount: f64, steps: i32| amount / f64::from(steps);
    match facts {
        [Some(Fact::ModelC), None] => None,
        [Some(Fact::Delivered { point, empty_at: Some(e) }), None] => {
            Some(rate(s(point) - w.accepted(e.into()), i32::from(point) - i32::from(e)))
        }
        [Some(Fact::Delivered { point, empty_at: None }), Some(Fact::JitterEnds { point: end, empty_at: None })] => {
            Some(rate(s(point) - s(end), i32::from(point) - (i32::from(end) - 1)))
        }
        _ => None,
    }
}

#[test]
fn the_binding_observations_give_the_ends_of_c() {
    let model = LinkModel::default();
    let (mut computed, mut paired) = (0, 0);
    for (_, w) in windows(5000) {
        let found = exact_bounds(&w, &model).expect("explains");
        for (binding, end) in [(found.c_min, found.bounds.c.min), (found.c_max, found.bounds.c.max)] {
            assert!(binding.facts[0].is_some(), "{binding:?} {w:?}");
            assert_eq!(
                binding.points().is_empty(),
                end == model.c.min || end == model.c.max,
                "{binding:?} {end} {w:?}"
            );
            paired += usize::from(binding.points().len() >= 2);
            if let Some(c) = c_of(binding.facts, &w) {
                computed += 1;
                assert!((c - end).abs() < CLOSE, "{c} {end} {binding:?} {w:?}");
            }
        }
    }
    assert!(computed > 3000 && paired > 5000, "{computed} ends computed, {paired} with two points");
}

#[test]
fn a_gap_in_the_capacities_is_reported() {
    // Losses by points 2 and 4, with all jitter in one direction: either the link is slow with a long queue, or it is
    // fast and was idle in between.
    let w = Window {
        sent: [
            50.780220751413175,
            73.20517400993326,
            103.34443063360084,
            111.92870566676048,
            144.2451800678171,
            177.31493279960432,
        ],
        delivered: [
            50.780220751413175,
            67.44992657287719,
            84.1196323943412,
            100.7893382158052,
            117.45904403726921,
            134.12874985873322,
        ],
        lost: [0.0, 0.0, 10.090508034752247, 10.090508034752247, 17.6518458260405, 0.0],
        visible: 5,
        sent_next: 177.60143670346952,
        ..Window::fresh()
    };
    let model = LinkModel::default();
    let found = exact_bounds(&w, &model).expect("explains");
    let gap = found.gap.expect("has a gap");
    for i in 1..100 {
        let c = gap.min + gap.width() * f64::from(i) / 100.0;
        assert_eq!(slice(&w, &model, c), None, "{c} in {gap:?}");
    }
    assert!(slice(&w, &model, gap.min).is_some() && slice(&w, &model, gap.max).is_some(), "{gap:?}");
    assert!(found.bounds.c.contains(gap.min, CLOSE) && found.bounds.c.contains(gap.max, CLOSE));
    let without =
        windows(5000).filter(|(_, w)| exact_bounds(w, &model).is_some_and(|found| found.gap.is_none())).count();
    assert!(without > 4990, "{without} windows without a gap");
}
