//! The search makes required decisions, and pruning does not change them.

use fairweir_game::action::Send;
use fairweir_game::link::random_window;
use fairweir_game::play::{Jitter, Policy, Row, Session, Summary, play};
use fairweir_game::query::Query;
use fairweir_game::state::{Situation, State};
use fairweir_game::{HeldCapacity, LinkModel, Range, Window};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn text(name: &str) -> serde_json::Value {
    let path = format!("{}/../../queries/game/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut all: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    // Tables that only Python reads.
    all.remove("sampling");
    all.remove("tree");
    serde_json::to_value(all).unwrap()
}

fn query(name: &str) -> Query {
    Query::from_json(&text(name).to_string()).unwrap()
}

fn fixed(steps: u32) -> Session {
    Session {
        c: 12.5,
        b: 200.0,
        steps,
        jitter: Jitter::None,
        change_at: None,
        changed_c: None,
        warm_up: 0,
        noise: 0.0,
        encoder_noise: false,
        seed: 1,
    }
}

fn rows(query: &Query, session: &Session) -> (Vec<Row>, Summary) {
    let mut rows = vec![];
    let summary = play(query, session, Policy::Search, |row| rows.push(*row));
    (rows, summary)
}

#[test]
fn the_capacity_of_a_fixed_link_is_found() {
    for depth in [3, 5] {
        let query = Query { depth, ..query("conference") };
        let (rows, _) = rows(&query, &fixed(11));
        // The published controller reaches min C 15 by step 9 and max C 29 at step 12.
        assert!(rows[8].situation.belief.bounds.c.min >= 0.95 * 12.5, "depth {depth}");
        assert!(rows[10].situation.max_c.is_some_and(|c| c <= 30.0), "depth {depth}");
    }
}

/// Returns the steps at which min C is within 5 % of a fixed link's capacity and max C is at most 30 packets.
fn found_at(query: &Query) -> (Option<usize>, Option<usize>) {
    let (rows, _) = rows(query, &fixed(20));
    let min = rows.iter().position(|r| r.situation.belief.bounds.c.min >= 0.95 * 12.5);
    (min, rows.iter().position(|r| r.situation.max_c.is_some_and(|c| c <= 30.0)))
}

/// The tolerated loss of a probe determines when max C becomes known; the width of the model and the horizon do not.
#[test]
fn bulk_finds_a_fixed_link_as_fast_as_its_tolerance_allows() {
    for cap in [200.0, 40_000.0] {
        let wide = |query: Query, depth: u32| {
            let model = LinkModel { c: Range::new(1.0, cap), b: Range::new(1.0, cap), ..query.model };
            Query { model, depth, ..query }
        };
        for depth in [3, 4] {
            assert_eq!(found_at(&wide(query("bulk"), depth)), (Some(8), Some(15)), "{cap} {depth}");
        }
        let mut generous = text("bulk");
        generous["objective"]["limits"]["tolerance_steps"] = 1.0.into();
        generous["shield"][0]["at"] = serde_json::json!({"R0": 1, "M": 1});
        let probe = generous["actions"].as_array_mut().unwrap().iter_mut().find(|a| a["name"] == "probe").unwrap();
        probe["rate"] = "R0 + M".into();
        let generous = Query::from_json(&generous.to_string()).unwrap();
        assert_eq!(found_at(&wide(generous, 3)), (Some(6), Some(10)), "{cap}");
    }
}

#[test]
fn two_steps_never_probe_and_three_do() {
    for (depth, probes) in [(2, false), (3, true)] {
        let query = Query { depth, ..query("conference") };
        let (rows, _) = rows(&query, &fixed(12));
        let is_probe = |r: &Row| r.action.rate > r.situation.belief.bounds.safe_rate + 1e-6;
        assert_eq!(rows.iter().any(is_probe), probes, "depth {depth}");
        let found = rows[11].situation.belief.bounds.c.min;
        assert_eq!(found > 10.0, probes, "depth {depth}: {found}");
    }
}

#[test]
fn the_same_session_is_run_the_same() {
    let query = Query { depth: 3, ..query("conference") };
    let session = Session { steps: 25, warm_up: 5, noise: 0.1, ..Session::random(&query, 4) };
    assert_eq!(rows(&query, &session), rows(&query, &session));
    let other = Session { seed: session.seed + 1, ..session };
    assert_ne!(rows(&query, &session).0, rows(&query, &other).0);
}

/// Random situations of a session with noise, so that batches wait and FEC frames are in flight.
fn situations(query: &Query, n: usize) -> Vec<Situation> {
    let mut all = vec![];
    for seed in 0.. {
        let query = Query { depth: 2, ..query.clone() };
        let session = Session { noise: 0.5, ..Session::random(&query, seed) };
        play(&query, &session, Policy::Search, |row| all.push(row.situation));
        if all.len() >= 40 * n {
            return all.into_iter().step_by(40).take(n).collect();
        }
    }
    all
}

#[test]
fn the_decision_is_the_first_of_the_best_of_all_actions() {
    let query = Query { depth: 3, ..query("conference") };
    let mut ties = 0;
    for s in situations(&query, 40) {
        let Some(mut search) = s.search(&query) else { continue };
        let decision = search.decide();
        let all = s.search(&query).unwrap().decide_all();
        let best = all.iter().map(|j| j.value).min().unwrap();
        let first = all.iter().find(|j| j.value == best).unwrap();
        assert_eq!((decision.value, decision.template, decision.action), (best, first.template, first.action));
        ties += all.iter().filter(|j| j.value == best).count() - 1;
        // Every template has the value of its action.
        let values = s.search(&query).unwrap().values();
        assert_eq!(values.len(), query.actions.0.len());
        assert!(all.iter().all(|j| values[j.template] == j.value));
        assert_eq!(values.iter().min(), Some(&best));
        // The best line of both sides begins with the decision.
        let line = s.search(&query).unwrap().line();
        assert_eq!(line[0].action, decision.action);
    }
    assert!(ties > 0, "preference among equals is tested");
}

fn scaled(w: &Window, k: f64) -> Window {
    Window {
        sent: w.sent.map(|x| x * k),
        delivered: w.delivered.map(|x| x * k),
        lost: w.lost.map(|x| x * k),
        lost_before: w.lost_before * k,
        sent_next: w.sent_next * k,
        ..*w
    }
}

#[test]
fn away_from_the_models_bounds_the_game_is_scale_free() {
    let mut query = Query { depth: 3, ..query("conference") };
    // The model's bounds are far away, and no quantity is in packets.
    query.model = LinkModel { c: Range::new(0.01, 1e5), b: Range::new(0.01, 1e5), ..query.model };
    query.objective.limits.raise_packets = 0.0;
    query.objective.limits.tolerance_packets = 0.0;
    query.objective.searching.retain(|c| c.name != "C's range is narrow");
    let narrow = LinkModel { c: Range::new(4.0, 100.0), b: Range::new(4.0, 100.0), ..query.model };
    let random = &mut ChaCha8Rng::seed_from_u64(3);
    let mut played = 0;
    while played < 60 {
        let (_, window) = random_window(&narrow, random);
        let of = |k: f64| {
            let mut state = State { window: scaled(&window, k), ..State::fresh() };
            state.frames.encoding = 6.0 * k;
            let held = &mut HeldCapacity::new(200);
            Situation::new(state, &query.model, query.points, held)
        };
        let (one, four) = (of(1.0), of(4.0));
        let bounds = &one.belief.bounds;
        // If the buffer is at the model's minimum, the situation is not away from the bounds.
        if bounds.c.min < 0.1 || bounds.c.max > 5e4 || bounds.b.min < 0.1 || random.random::<f64>() < 0.2 {
            continue;
        }
        let (a, b) = (one.search(&query).unwrap().decide(), four.search(&query).unwrap().decide());
        assert_eq!((a.template, a.action.send), (b.template, b.action.send), "{window:?}");
        let close = |x: f64, y: f64| (4.0 * x - y).abs() <= 1e-4 * y.abs().max(1.0);
        assert!(close(a.action.rate, b.action.rate) && close(a.action.encode, b.action.encode), "{a:?} {b:?}");
        played += 1;
    }
}

#[test]
fn the_encoder_is_an_adversary() {
    // A batch for which 10 packets were requested, with a belief in which every packet above 12 may be lost.
    let mut query = Query { depth: 3, ..query("conference") };
    let random = &mut ChaCha8Rng::seed_from_u64(8);
    let mut different = 0;
    for _ in 0..40 {
        let (_, window) = random_window(&query.model, random);
        let mut state = State { window, ..State::fresh() };
        state.frames.encoding = 10.0;
        let s = Situation::new(state, &query.model, query.points, &mut HeldCapacity::new(200));
        let mut decide = |min: f64, max: f64| {
            query.encoder = Range::new(min, max);
            s.search(&query).map(|mut search| search.decide().value)
        };
        let (exact, real, small, large) = (decide(1.0, 1.0), decide(0.6, 1.3), decide(0.6, 0.6), decide(1.3, 1.3));
        // The adversary's choice is at least as bad for the controller as each of its factors.
        assert!(real >= small && real >= large);
        different += usize::from(real != exact);
    }
    assert!(different > 0);
}

#[test]
fn shielded_actions_are_offered_once_and_sending_comes_first() {
    let query = query("conference");
    assert_eq!(query.actions.0[0].send, Send::Newest);
    for s in situations(&query, 60) {
        let amounts = fairweir_game::state::amounts(&s.belief.bounds);
        let waiting = s.state.frames.sizes();
        let choices = query.actions.choices(&query.shield, &amounts, &waiting, true);
        assert!(!choices.is_empty());
        for (i, choice) in choices.iter().enumerate() {
            let kept = fairweir_game::shield::promises(&choice.action, &amounts);
            assert!(kept.decodable >= -1e-6 && kept.queue >= -1e-6 && kept.rate_covers_message >= 0.0);
            assert!(choices[..i].iter().all(|c| c.action != choice.action));
        }
    }
}

#[test]
fn each_mistake_in_a_query_is_rejected_with_its_key() {
    let change = |key: &str, value: serde_json::Value| {
        let mut all = text("conference");
        *key.split('.').fold(&mut all, |v, k| match k.parse::<usize>() {
            Ok(i) => &mut v[i],
            Err(_) => &mut v[k],
        }) = value;
        Query::from_json(&all.to_string()).map(|_| ()).unwrap_err()
    };
    for (key, value, says) in [
        ("depth", serde_json::json!(0), "`0` is not between 1 and"),
        ("depth", serde_json::json!(9), "`9` is not between 1 and"),
        ("step", serde_json::json!("50"), "`50`"),
        ("points", serde_json::json!(2), "`2`"),
        ("probe_period", serde_json::json!(0), "`0`"),
        ("encoder", serde_json::json!([2, 1]), "minimum"),
        ("model.c", serde_json::json!([0, 10]), "`[0, 10]`"),
        ("actions", serde_json::json!([]), "0 actions"),
        ("actions.0.rate", serde_json::json!("3 X"), "unknown amount `X`"),
        ("actions.1.name", serde_json::json!("newest"), "the name `newest` is given twice"),
        ("actions.1.send", serde_json::json!("some"), "`some`"),
        ("kind", serde_json::json!("rate"), "only to video queries"),
        ("shield", serde_json::json!([{"unless": "message <= R9", "do": "hold"}]), "`R9`"),
        ("objective.searching", serde_json::json!([]), "0 components"),
        ("objective.converged.1.terms", serde_json::json!({"joy": 1}), "unknown metric `joy`"),
        ("objective.converged.1.quantum", serde_json::json!(0), "`0` is not positive"),
        ("objective.limits.queue_steps", serde_json::json!(-1), "`-1`"),
        ("objective.limits.deadline_steps", serde_json::json!(0), "`0`"),
        ("surprise", serde_json::json!(1), "`surprise`"),
    ] {
        let error = change(key, value);
        assert!(error.to_string().contains(says), "{key}: {error}");
        let last = key.split('.').rfind(|k| k.parse::<usize>().is_err()).unwrap();
        let named = error.key.contains(last) || last == "kind";
        assert!(named, "{key}: {error}");
    }
}

#[test]
fn a_query_is_written_as_it_was_read() {
    let query = query("conference");
    assert_eq!(Query::from_json(&serde_json::to_string(&query).unwrap()).unwrap(), query);
}
