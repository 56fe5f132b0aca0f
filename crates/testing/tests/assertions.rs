//! Assertions that fail, and their messages.

use fairweir_testing::{
    Ack, Bytes, Context, Controller, Dumbbell, Flow, Interests, LOSS_RATE, Loss, Metric, QDELAY_P95_MS, QUEUE_MEAN_MS,
    SHARE, THROUGHPUT_MBPS, UTILIZATION,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// A window that `step` computes at each ACK.
#[derive(Debug)]
struct Window {
    packets: u64,
    step: fn(u64, &mut Context<'_>) -> u64,
}

impl Controller for Window {
    fn on_ack(&mut self, _: &Ack<'_>, cx: &mut Context<'_>) {
        self.packets = (self.step)(self.packets, cx);
    }
    fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {}
    fn cwnd(&self) -> Bytes {
        Bytes(1500 * self.packets)
    }
    fn interests(&self) -> Interests {
        Interests { own_recovery: true, ..Interests::default() }
    }
}

fn window(packets: u64) -> Flow {
    Flow::new("window", move |_| Window { packets, step: |packets, _| packets })
}

/// 12 Mbps and 20 ms: a BDP is 20 packets.
fn path() -> Dumbbell {
    Dumbbell::new("12Mbps", "20ms").duration("12s", "4s").seeds(1..=3)
}

fn message(test: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(test)).expect_err("the assertion fails");
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap()
}

#[test]
fn windows_have_the_utilization_and_the_queue_of_littles_law() {
    // Half a BDP, then one and a half, of 20 packets and the one in transmission.
    path().alone(&window(10)).assert(&UTILIZATION, 0.47..0.5).assert(&QUEUE_MEAN_MS, ..0.01).assert(&LOSS_RATE, ..=0.0);
    let runs = path().alone(&window(31));
    runs.assert(&UTILIZATION, 0.999..).assert(&QUEUE_MEAN_MS, 9.9..10.1).assert(&THROUGHPUT_MBPS, 11.98..=12.0);
    // RTT - rtprop has the transmission time of 1 ms, too.
    runs.assert(&QDELAY_P95_MS, 10.9..11.2);
    assert_eq!(runs.summaries().len(), 3);
}

#[test]
fn shares_follow_windows_and_bdps_count_the_longest_rtprop() {
    let wide = path().buffer("2bdp").against(&window(30), &window(10));
    wide.assert(&SHARE, 0.74..0.76);
    // The buffer of 1 BDP is 40 packets with a flow of 40 ms, and loses nothing.
    let far = window(20).rtprop("40ms");
    path().against(&window(20), &far).assert(&LOSS_RATE, ..=0.0);
    path().against(&window(30), &window(30)).assert(&LOSS_RATE, 0.01..);
}

#[test]
fn a_violated_bound_is_reported_with_values_and_a_replay() {
    let message = message(|| {
        path().alone(&window(10)).assert(&UTILIZATION, 0.9..);
    });
    let first = "utilization of window-1 must be at least 0.9: `0.4";
    assert!(message.starts_with(first) && message.contains("mean and 95 % interval over 3 seeds"), "{message}");
    assert!(
        message.contains("12Mbps, rtprop 20ms, buffer 1bdp; 12s, measured after 4s\n  seed    1  0.4"),
        "{message}"
    );
    assert!(message.contains("\n[link.bottleneck]\nrate = \"12Mbps\"\nbuffer = \"1bdp\"\n"), "{message}");
    assert!(message.contains("cca = \"window\" # replace by"), "{message}");
}

#[test]
fn an_interval_across_a_bound_fails_and_says_that_it_is_undecided() {
    let runs = path().jitter("4ms").against(&Flow::named("reno"), &Flow::named("cubic"));
    let mean = runs.mean(&SHARE);
    assert!(mean.lo < mean.mean && mean.mean < mean.hi, "{mean:?}");
    let message = message(move || {
        runs.assert(&SHARE, mean.mean..);
    });
    assert!(message.contains("which 3 seeds do not decide: `"), "{message}");
    assert!(message.contains("hint: use more seeds, or a bound outside of the interval"), "{message}");
}

#[test]
fn one_seed_has_a_value_and_no_interval() {
    let message = message(|| {
        path().seeds([7]).alone(&window(10)).assert(&UTILIZATION, 0.9..);
    });
    assert!(message.starts_with("utilization of window-1 must be at least 0.9: `0.4"), "{message}");
    assert!(!message.contains("interval"), "{message}");
    assert!(message.contains("seed = 7\n"), "{message}");
}

#[test]
fn a_metric_without_samples_is_no_zero() {
    const NONE: Metric = Metric::new("echo", "ms", 0.0..=1.0, |_| None);
    let message = message(|| {
        path().alone(&window(10)).mean(&NONE);
    });
    assert!(message.starts_with("echo of window-1 has no sample with seed 1\n\nreplay seed 1"), "{message}");
}

#[test]
fn a_controller_that_shares_state_between_runs_is_not_repeatable() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let shared = Flow::new("shared", |_| Window {
        packets: 10,
        step: |_, _| 10 + u64::from(CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(7)),
    });
    let message = message(move || path().assert_repeatable(&[&shared]));
    assert!(
        message.starts_with("shared-1 is not repeatable: two runs with seed 1 differ\n\n  first run:  "),
        "{message}"
    );
    assert!(message.contains("\n  second run: "), "{message}");
    assert!(message.contains("hint: read no clock"), "{message}");
    // Random numbers of the flow are those of the seed.
    let random = Flow::new("random", |_| Window { packets: 10, step: |_, cx| 10 + cx.now.as_nanos() % 3 });
    path().assert_repeatable(&[&random, &Flow::named("cubic")]);
}

#[test]
fn a_controller_that_cannot_run_is_one_message_with_the_scenario() {
    let zero =
        Flow::new("zero", |_| Window { packets: 10, step: |_, cx| u64::from(cx.now.as_nanos() < 3_000_000_000) });
    let stalled = message(move || drop(path().alone(&zero)));
    assert!(
        stalled.starts_with("flow `zero-1` at 3") && stalled.contains(", with seed 1\n\nreplay seed 1"),
        "{stalled}"
    );
    let wrong = message(|| drop(path().alone(&Flow::named("cubic").param("beta", 7))));
    assert!(wrong.starts_with("flow `cubic-1`: parameters of `cubic`: "), "{wrong}");
    assert!(wrong.contains("cca = { name = \"cubic\", \"beta\" = 7 }"), "{wrong}");
    let config = message(|| drop(Dumbbell::new("12Mbps", "20ms").duration("1s", "2s").alone(&window(1))));
    assert!(config.starts_with("must end before the run does: `2s` (warmup), with seed 1\n\nhint: "), "{config}");
}

#[test]
fn wrong_arguments_are_named() {
    let cases: [(&str, fn()); 5] = [
        ("rate: rate `24` has no unit\n\nhint: write a rate with its unit", || drop(Dumbbell::new("24", "40ms"))),
        ("buffer: size `1rtt` has an unknown unit", || drop(Dumbbell::new("24Mbps", "40ms").buffer("1rtt"))),
        ("seeds: there must be at least one", || drop(path().seeds([]))),
        ("seeds: each may occur once: [1, 1]", || drop(path().seeds([1, 1]))),
        ("no congestion controller `cubik`\n\nhint: reno, cubic, bbr", || drop(Flow::named("cubik"))),
    ];
    for (expected, case) in cases {
        let found = message(case);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_panic_of_a_controller_is_the_tests_panic() {
    let bad = Flow::new("bad", |_| Window { packets: 10, step: |_, _| panic!("index out of range") });
    assert_eq!(message(move || drop(path().alone(&bad))), "index out of range");
}
