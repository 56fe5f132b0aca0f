//! A belief exists for all observations, and states its source.

use fairweir_game::link::{Link, random_window};
use fairweir_game::{Belief, BeliefSource, LinkModel, POINTS, Window, believe, exact_bounds};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A window of points (sent, delivered) without losses; all losses are known.
fn window(points: &[(f64, f64)], sent_next: f64) -> Window {
    let mut w = Window { len: points.len(), visible: 0, sent_next, ..Window::fresh() };
    for (t, &(sent, delivered)) in points.iter().enumerate() {
        (w.sent[t], w.delivered[t]) = (sent, delivered);
    }
    w.visible = points.iter().take_while(|(sent, _)| *sent <= w.delivered_last()).count();
    w
}

fn check(belief: &Belief, model: &LinkModel) {
    let bounds = &belief.bounds;
    for range in [bounds.c, bounds.b, bounds.q] {
        assert!(range.min.is_finite() && range.max.is_finite() && range.min <= range.max + 1e-5, "{belief:?}");
    }
    assert!(model.c.min <= bounds.c.min && bounds.c.max <= model.c.max && bounds.q.min >= 0.0, "{belief:?}");
    assert!(bounds.safe_rate >= model.c.min - belief.slack - 1e-5 && bounds.safe_rate.is_finite(), "{belief:?}");
    assert!((1..=POINTS).contains(&belief.points));
}

#[test]
fn a_window_of_the_model_is_believed_whole() {
    let model = LinkModel::default();
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..2000 {
        let (_, w) = random_window(&model, &mut random);
        let belief = believe(&w, &model);
        assert_eq!((belief.from, belief.exact, belief.points), (BeliefSource::Window, true, POINTS));
        assert_eq!(Some(belief.bounds), exact_bounds(&w, &model).map(|found| found.bounds));
    }
}

#[test]
fn after_a_change_of_rate_fewer_points_count() {
    // 10 packets per step, then 4 packets per step; the link is always busy.
    let w = window(&[(20.0, 10.0), (40.0, 20.0), (60.0, 30.0), (80.0, 34.0), (100.0, 38.0), (120.0, 42.0)], 140.0);
    let model = LinkModel::default();
    assert_eq!(exact_bounds(&w, &model), None);
    let belief = believe(&w, &model);
    assert_eq!((belief.from, belief.exact), (BeliefSource::FewerPoints, true));
    assert!(belief.points < POINTS, "{belief:?}");
    let latest = w.latest(belief.points).expect("has them");
    assert_eq!(exact_bounds(&latest, &model).map(|found| found.bounds), Some(belief.bounds));
}

#[test]
fn a_stall_is_more_jitter() {
    // A busy link of at least one packet per step delivers nothing for two steps.
    let w = window(&[(20.0, 10.0), (40.0, 20.0), (60.0, 30.0), (80.0, 30.0), (100.0, 30.0), (120.0, 30.0)], 140.0);
    let belief = believe(&w, &LinkModel::default());
    assert_eq!((belief.from, belief.exact), (BeliefSource::LargerJitter, false));
    assert_eq!((belief.jitter, belief.points), (3, POINTS), "{belief:?}");
}

#[test]
fn a_burst_lost_a_packet_early_is_slack() {
    // C = 10, B = 7. The queue is full at each loss; at the second loss 0.7 packets would still fit.
    let model = LinkModel::default();
    let mut w = window(&[(0.0, 0.0), (17.0, 10.0), (29.0, 20.0), (41.0, 30.0), (53.0, 40.0), (53.0, 47.0)], 53.0);
    (w.lost, w.visible) = ([0.0, 0.0, 2.0, 4.7, 6.0, 6.0], POINTS);
    assert_eq!(exact_bounds(&w, &model), None);
    let belief = believe(&w, &model);
    assert_eq!((belief.from, belief.points, belief.slack), (BeliefSource::PacketSlack, POINTS, 1.0));
    assert!(belief.bounds.c.contains(10.0, 1e-6) && belief.bounds.b.contains(7.0, 1e-6), "{belief:?}");
}

#[test]
fn without_an_explaining_jitter_the_delivered_rate_remains() {
    // In one step more was delivered than the fastest link of the model serves in two.
    let w = window(&[(0.0, 0.0), (900.0, 0.0), (900.0, 900.0)], 950.0);
    let belief = believe(&w, &LinkModel::default());
    assert_eq!((belief.from, belief.exact), (BeliefSource::DeliveredRate, false));
    assert_eq!(belief.bounds.c.min, 200.0);
    assert_eq!(belief.bounds.q.max, 50.0);
}

proptest! {
    #[test]
    fn every_window_is_believed(
        steps in prop::collection::vec((0.0..60.0f64, 0.0..1.0f64, 0.0..1.0f64), 1..=POINTS),
        late in 0.0..50.0f64, next in 0.0..60.0f64,
    ) {
        let mut w = Window { len: steps.len(), visible: 0, ..Window::fresh() };
        let (mut sent, mut delivered, mut lost) = (late, 0.0, 0.0);
        let mut losses = [0.0; POINTS];
        for (t, &(more, share, loss)) in steps.iter().enumerate() {
            sent += more;
            lost += (loss - 0.7).max(0.0) * more;
            delivered += (sent - lost - delivered).max(0.0) * share;
            (w.sent[t], w.delivered[t], losses[t]) = (sent, delivered, lost);
        }
        w.sent_next = sent + next;
        w.visible = (0..w.len).take_while(|&t| w.sent[t] - losses[t] <= delivered).count();
        w.lost[..w.visible].copy_from_slice(&losses[..w.visible]);
        let model = LinkModel::default();
        check(&believe(&w, &model), &model);
    }
}

#[test]
fn a_link_that_changes_is_always_believed() {
    let model = LinkModel::default();
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut sources = std::collections::HashSet::new();
    for seed in 0..200u32 {
        let mut link = Link::random(&model, &mut random);
        let mut w = Window::fresh();
        let mut next = 0.0;
        for t in 0..40u32 {
            if t % 12 == 0 {
                link.c = f64::from(1 + (seed * 7 + t * 13) % 40);
            }
            let arriving = next;
            next = link.c * f64::from(1 + (t + seed) % 3) * 0.6;
            link.step(arriving, f64::from((t * 7 + seed) % 5) / 4.0);
            w.slide(&link.observe(&w), next);
            let belief = believe(&w, &model);
            check(&belief, &model);
            sources.insert(belief.from);
        }
    }
    assert!(sources.len() >= 4, "{sources:?}");
}
