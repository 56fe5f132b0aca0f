//! The record of packets, which is the input of a replay with real bytes.

mod common;

use common::{LinkSpec, config, outcome};
use fairweir_video::Fate;

#[test]
fn packets_and_groups_say_which_frames_arrive() {
    let mut config = config(&LinkSpec::shallow(), r#"{"kind": "fixed", "rate": 500000}"#, 10, 1);
    config.packets = true;
    let out = outcome(&config);
    let lost = out.packets.iter().filter(|p| p.arrived_ms.is_none()).count();
    assert!(lost > 0 && out.packets.is_sorted_by(|a, b| a.sent_ms <= b.sent_ms));
    for (id, group) in out.groups.iter().enumerate() {
        let of_group: Vec<_> = out.packets.iter().filter(|p| p.group as usize == id).collect();
        assert!(of_group.iter().enumerate().all(|(i, p)| p.index as usize == i));
        assert!(of_group.len() <= group.total as usize);
        let arrived = of_group.iter().filter(|p| p.arrived_ms.is_some_and(|at| at < 10_000.0)).count();
        for &frame in &group.frames {
            // A shown frame was complete, but a complete frame may still wait for its reference.
            let was_shown = out.frames[frame as usize].fate == Fate::Shown;
            assert!(!was_shown || arrived >= group.message as usize, "frame {frame}: {arrived} of {group:?}");
        }
    }
    config.packets = false;
    let without = outcome(&config);
    assert!(without.packets.is_empty() && without.groups.is_empty());
    assert_eq!(without.metrics, out.metrics);
}
