use fairweir_testing::{Dumbbell, Flow, LOSS_RATE, QUEUE_P95_MS, SHARE, UTILIZATION};
use mystack::MyCc;

fn mine() -> Flow {
    Flow::of::<MyCc>().plugin("target/release/libmystack.so")
}

#[test]
fn fills_a_link_without_excessive_loss() {
    let path = Dumbbell::new("24Mbps", "40ms").buffer("1bdp").jitter("2ms");
    path.alone(&mine()).assert(&UTILIZATION, 0.98..).assert(&QUEUE_P95_MS, ..42.0).assert(&LOSS_RATE, ..0.001);
    path.assert_repeatable(&[&mine()]);
}

#[test]
fn shares_with_deployed_controllers() {
    let path = Dumbbell::new("24Mbps", "40ms").buffer("1bdp").duration("180s", "60s");
    path.against(&mine(), &Flow::named("reno")).assert(&SHARE, 0.3..0.7);
    path.against(&mine(), &Flow::named("cubic")).assert(&SHARE, 0.3..0.7);
}
