//! The decisions about a flow, for display. Only changes of the kind of decision are stored: limited or not, and the
//! reason.

use super::Decision;
use fairweir_units::Time;
use std::collections::VecDeque;

/// Maximum number of stored changes.
const REMEMBERED: usize = 20;

/// The latest kinds of decision about one flow.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<(Time, Decision)>);

impl History {
    /// Stores a decision and returns whether its kind differs from that of the latest. Of consecutive decisions of the
    /// same kind, only the latest is stored, with the time of the first.
    pub fn remember(&mut self, now: Time, decision: &Decision) -> bool {
        if let Some((_, latest)) = self.0.back_mut()
            && is_alike(latest, decision)
        {
            latest.clone_from(decision);
            return false;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((now, decision.clone()));
        true
    }

    /// The current decision.
    pub fn latest(&self) -> Option<&Decision> {
        self.0.back().map(|(_, decision)| decision)
    }

    /// Returns the decisions, oldest first, with the time from which each was in force.
    pub fn iter(&self) -> impl Iterator<Item = (Time, &Decision)> {
        self.0.iter().map(|(since, decision)| (*since, decision))
    }
}

fn is_alike(one: &Decision, other: &Decision) -> bool {
    one.window.is_some() == other.window.is_some()
        && std::mem::discriminant(&one.why) == std::mem::discriminant(&other.why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Class, Why};

    #[test]
    fn only_changes_in_kind_are_stored() {
        let mut history = History::default();
        let held = |class| Decision::release(Why::Class { class });
        let at = Time::from_nanos;
        let are_new = [
            history.remember(at(1), &Decision::release(Why::TooYoung)),
            history.remember(at(2), &held(Class::Below)),
            history.remember(at(3), &held(Class::Above)),
            history.remember(at(4), &Decision::release(Why::Unused)),
        ];
        assert_eq!(are_new, [true, true, false, true]);
        let kept: Vec<_> = history.iter().map(|(since, decision)| (since.as_nanos(), decision.why.clone())).collect();
        assert_eq!(kept, [(1, Why::TooYoung), (2, Why::Class { class: Class::Above }), (4, Why::Unused)]);
        assert_eq!(history.latest().map(|decision| &decision.why), Some(&Why::Unused));
        for n in 5..100 {
            history.remember(at(n), &Decision::release(if n % 2 == 0 { Why::Unused } else { Why::Unmanaged }));
        }
        assert_eq!(history.iter().count(), REMEMBERED);
    }
}
