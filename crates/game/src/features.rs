//! Features of a tree: a fixed list of numbers, each linear in the belief's bounds and the sizes in the state.
//!
//! All amounts are divided by `M`, the minimum capacity of the belief. Away from the model's bounds the game is
//! scale-free, so a tree made on slow links is valid for fast links. The features are linear so that the action of a
//! leaf can be proved for all beliefs that reach the leaf (docs/formal/game.md).

use crate::action::Waiting;
use crate::form::Amounts;

/// A number that a tree may compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// The name in controller files.
    pub name: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The meaning of the feature.
    pub doc: &'static str,
}

/// Number of features.
pub const COUNT: usize = 22;

const fn feature(name: &'static str, unit: &'static str, doc: &'static str) -> Feature {
    Feature { name, unit, doc }
}

/// The list of features; a vector of features has this order.
pub const FEATURES: [Feature; COUNT] = [
    feature("converged", "0 or 1", "max C is held: once below the model's cap it is kept for the probe period"),
    feature("q", "M", "Q, the maximum queue at the next point"),
    feature("r0", "M", "R0, the rate of which nothing can be lost"),
    feature("max_c", "M", "the held max C, else that of the belief"),
    feature("c_plus_b", "M", "the minimum of C + B over the belief"),
    feature("waiting", "batches", "encoded batches that wait"),
    feature("newest", "M", "size of the newest batch"),
    feature("oldest", "M", "size of the oldest batch"),
    feature("sum", "M", "size of all waiting batches"),
    feature("encoding", "M", "target of the batch that is being encoded"),
    feature("in_flight", "M", "sent, and neither delivered nor known to be lost"),
    feature("last_rate", "M", "sent in the last step"),
    feature("delivered_last", "M", "delivered in the last step"),
    feature("oldest_age", "steps", "age of the oldest batch since its encoding began, 0 without one"),
    feature("group_age", "steps", "age of the oldest FEC frame in flight, 0 without one"),
    feature("groups", "frames", "FEC frames in flight"),
    feature("packet", "M", "one packet: large where the known capacity is small"),
    feature("spare_newest", "M", "R0 without the newest batch: what may be probed at no risk for it"),
    feature("spare_sum", "M", "R0 without all waiting batches"),
    feature("room", "M", "3 M - Q: what may be sent so that two steps drain it"),
    feature("room_newest", "M", "3 M - Q without the newest batch"),
    feature("room_sum", "M", "3 M - Q without all waiting batches"),
];

/// Returns the index of the feature `name`.
pub fn index_of(name: &str) -> Option<usize> {
    FEATURES.iter().position(|f| f.name == name)
}

/// Inputs of the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// M, Q and R0 of the belief.
    pub amounts: Amounts,
    /// Whether max C is held (the controller remembers it after its evidence has left the window).
    pub is_converged: bool,
    /// The held max C; if none is held, the belief's max C; packets per step.
    pub max_c: f64,
    /// The minimum of C + B, packets.
    pub c_plus_b: f64,
    /// Sizes of the waiting batches, packets.
    pub waiting: Waiting,
    /// Target of the batch that is being encoded, packets.
    pub encoding: f64,
    /// Packets sent and neither delivered nor known to be lost.
    pub in_flight: f64,
    /// Packets sent in the last step.
    pub last_rate: f64,
    /// Packets delivered in the last step.
    pub delivered_last: f64,
    /// Age of the oldest batch, steps.
    pub oldest_age: u32,
    /// Age of the oldest FEC frame in flight, steps.
    pub group_age: u32,
    /// Number of FEC frames in flight.
    pub groups: usize,
}

/// Returns the features in the order of [`FEATURES`].
pub fn features(v: &View) -> [f64; COUNT] {
    let m = v.amounts.min_c;
    let (q, r0) = (v.amounts.max_q / m, v.amounts.safe_rate / m);
    let (newest, sum) = (v.waiting.newest() / m, v.waiting.sum() / m);
    let room = 3.0 - q;
    [
        f64::from(u8::from(v.is_converged)),
        q,
        r0,
        v.max_c / m,
        v.c_plus_b / m,
        v.waiting.len as f64,
        newest,
        v.waiting.oldest() / m,
        sum,
        v.encoding / m,
        v.in_flight / m,
        v.last_rate / m,
        v.delivered_last / m,
        f64::from(v.oldest_age),
        f64::from(v.group_age),
        v.groups as f64,
        1.0 / m,
        r0 - newest,
        r0 - sum,
        room,
        room - newest,
        room - sum,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_in_the_order_of_the_values() {
        for (i, f) in FEATURES.iter().enumerate() {
            assert_eq!(index_of(f.name), Some(i));
        }
        let view = View {
            amounts: Amounts { min_c: 2.0, max_q: 1.0, safe_rate: 8.0 },
            is_converged: true,
            max_c: 6.0,
            c_plus_b: 10.0,
            waiting: Waiting { sizes: [1.0, 3.0, 0.0, 0.0], len: 2 },
            encoding: 5.0,
            in_flight: 7.0,
            last_rate: 9.0,
            delivered_last: 11.0,
            oldest_age: 2,
            group_age: 4,
            groups: 3,
        };
        let x = features(&view);
        let at = |name: &str| x[index_of(name).unwrap()];
        assert_eq!([at("converged"), at("q"), at("r0"), at("max_c"), at("c_plus_b")], [1.0, 0.5, 4.0, 3.0, 5.0]);
        assert_eq!([at("waiting"), at("newest"), at("oldest"), at("sum"), at("encoding")], [2.0, 1.5, 0.5, 2.0, 2.5]);
        assert_eq!([at("in_flight"), at("last_rate"), at("delivered_last"), at("packet")], [3.5, 4.5, 5.5, 0.5]);
        assert_eq!([at("oldest_age"), at("group_age"), at("groups")], [2.0, 4.0, 3.0]);
        assert_eq!([at("spare_newest"), at("spare_sum")], [2.5, 2.0]);
        assert_eq!([at("room"), at("room_newest"), at("room_sum")], [2.5, 1.0, 0.5]);
    }
}
