//! A shield: a few rules that are applied to a tree's action. With the standard rules, every leaf satisfies
//! [`promises`] on every belief.
//!
//! A tree is fitted to examples, so some beliefs reach a leaf that was not made for them. The shield is part of the
//! controller file, so the same text is proved, executed and explained. M, Q and R0 are the minimum capacity, maximum
//! queue and safe rate of a belief.

use crate::action::{Action, Send, Waiting};
use crate::form::{Amounts, Form};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The left side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The packets that must arrive for the message to be decoded.
    Message,
    /// All packets of the step.
    Rate,
}

/// A condition such as `message <= R0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// The compared quantity.
    pub side: Side,
    /// The limit of the quantity, packets.
    pub limit: Form,
}

impl Condition {
    /// Parse `message <= R0` or `rate <= 3 M - Q`.
    ///
    /// # Errors
    /// A description of the invalid part.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let wrong = || format!("`{text}` is not a comparison such as `message <= R0` or `rate <= 3 M - Q`");
        let (left, right) = text.split_once("<=").ok_or_else(wrong)?;
        let side = match left.trim() {
            "message" => Side::Message,
            "rate" => Side::Rate,
            _ => return Err(wrong()),
        };
        Ok(Condition { side, limit: Form::parse(right)? })
    }

    fn holds(&self, action: &Action, amounts: &Amounts) -> bool {
        let left = match self.side {
            Side::Message => action.message,
            Side::Rate => action.rate,
        };
        left <= self.limit.at(amounts)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Message => "message",
            Side::Rate => "rate",
        };
        write!(f, "{side} <= {}", self.limit)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Condition, D::Error> {
        Condition::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The action that replaces a leaf's action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instead {
    /// Send nothing. Keep the leaf's target size for the next frames.
    Hold,
    /// Send nothing and skip the next frames.
    Skip,
    /// Send the newest batch without repair.
    Newest,
    /// Send the oldest batch without repair.
    Oldest,
}

/// A rule of a shield.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AnyRule", into = "AnyRule")]
pub enum Rule {
    /// Take another action if the condition does not hold.
    Unless {
        /// The required condition.
        unless: Condition,
        /// The action if it fails.
        instead: Instead,
    },
    /// Cap the rate. If the message does not fit under the cap, send nothing: a message is never truncated.
    Cap {
        /// Maximum rate, packets; a negative value counts as 0.
        at: Form,
    },
}

/// Quantities that can be capped.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Capped {
    Rate,
}

/// A rule with all keys that occur in rules.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct AnyRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    unless: Option<Condition>,
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    instead: Option<Instead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<Capped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Form>,
}

impl TryFrom<AnyRule> for Rule {
    type Error = &'static str;
    fn try_from(rule: AnyRule) -> Result<Rule, &'static str> {
        match (rule.unless, rule.instead, rule.cap, rule.at) {
            (Some(unless), Some(instead), None, None) => Ok(Rule::Unless { unless, instead }),
            (None, None, Some(Capped::Rate), Some(at)) => Ok(Rule::Cap { at }),
            _ => Err("a rule must have either `unless` and `do`, or `cap` and `at`"),
        }
    }
}

impl From<Rule> for AnyRule {
    fn from(rule: Rule) -> AnyRule {
        match rule {
            Rule::Unless { unless, instead } => {
                AnyRule { unless: Some(unless), instead: Some(instead), ..AnyRule::default() }
            }
            Rule::Cap { at } => AnyRule { cap: Some(Capped::Rate), at: Some(at), ..AnyRule::default() },
        }
    }
}

/// A list of rules. Each is applied to the result of the previous rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shield(pub Vec<Rule>);

impl Shield {
    /// Return the standard rules. A message above `R0` or above 3 M - Q is replaced by the newest batch. If that is
    /// above `R0`, nothing is sent. The rate is at most 3 M - Q.
    pub fn standard() -> Shield {
        let safe = Condition { side: Side::Message, limit: Form([0.0, 0.0, 1.0, 0.0]) };
        let room = Form([3.0, -1.0, 0.0, 0.0]);
        let fits = Condition { side: Side::Message, limit: room };
        Shield(vec![
            Rule::Unless { unless: safe, instead: Instead::Newest },
            Rule::Unless { unless: fits, instead: Instead::Newest },
            Rule::Unless { unless: safe, instead: Instead::Hold },
            Rule::Cap { at: room },
        ])
    }

    /// Apply the rules.
    pub fn apply(&self, action: Action, amounts: &Amounts, waiting: &Waiting) -> Action {
        let mut a = action;
        for rule in &self.0 {
            match rule {
                Rule::Unless { unless, instead } => {
                    if !unless.holds(&a, amounts) {
                        a = instead.action(a.encode, waiting);
                    }
                }
                Rule::Cap { at } => {
                    let cap = at.at(amounts).max(0.0);
                    if cap < a.message {
                        a = Action::hold(a.encode);
                    } else {
                        a.rate = a.rate.min(cap);
                    }
                }
            }
        }
        a
    }
}

impl Instead {
    fn action(self, encode: f64, waiting: &Waiting) -> Action {
        let send = match self {
            Instead::Hold => return Action::hold(encode),
            Instead::Skip => return Action::hold(0.0),
            Instead::Newest => Send::Newest,
            Instead::Oldest => Send::Oldest,
        };
        if waiting.len == 0 {
            return Action::hold(encode);
        }
        let message = waiting.message(send);
        Action { send, message, rate: message, encode }
    }
}

/// Margins by which a shielded action satisfies its promises, in packets; negative where a promise is violated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promises {
    /// `rate - message`.
    pub rate_covers_message: f64,
    /// Number of repair packets minus the number of packets that may be lost, `max(0, rate - R0)`. If the margin is not
    /// negative, the message is decoded in any case.
    pub decodable: f64,
    /// `max(2 M, Q - M)` minus the queue one step later at capacity M.
    pub queue: f64,
}

/// Returns the margins of `action` on every link of a belief with these bounds.
pub fn promises(action: &Action, a: &Amounts) -> Promises {
    let lost = (action.rate - a.safe_rate).max(0.0);
    let queue = (a.max_q + action.rate - a.min_c).max(0.0);
    Promises {
        rate_covers_message: action.rate - action.message,
        decodable: action.repair() - lost,
        queue: (2.0 * a.min_c).max(a.max_q - a.min_c) - queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{MAX_WAITING, Template};
    use proptest::prelude::*;

    const EACH: [Send; 5] = [Send::None, Send::Newest, Send::Oldest, Send::All, Send::Each];

    proptest! {
        #[test]
        fn every_leaf_keeps_its_promises_on_every_belief(
            min_c in 1.0..200.0f64, q in 0.0..6.0f64, r0 in 0.001..5.0f64,
            sizes in prop::array::uniform4(0.0..3.0f64), len in 0..=MAX_WAITING,
            send in 0..5usize, rate in prop::array::uniform4(-4.0..4.0f64),
        ) {
            let amounts = Amounts { min_c, max_q: q * min_c, safe_rate: r0 * min_c };
            let waiting = Waiting { sizes: sizes.map(|s| s * min_c), len };
            let leaf = Template { send: EACH[send], rate: Form(rate), encode: Form::ZERO };
            let a = Shield::standard().apply(leaf.realise(&amounts, &waiting), &amounts, &waiting);
            let p = promises(&a, &amounts);
            let eps = 1e-9 * min_c;
            prop_assert!(p.rate_covers_message >= -eps && p.decodable >= -eps && p.queue >= -eps, "{a:?} {p:?}");
        }
    }

    #[test]
    fn without_a_shield_a_promise_is_broken() {
        let amounts = Amounts { min_c: 10.0, max_q: 25.0, safe_rate: 12.0 };
        let waiting = Waiting { sizes: [14.0, 0.0, 0.0, 0.0], len: 1 };
        let a = Action { send: Send::Newest, message: 14.0, rate: 14.0, encode: 10.0 };
        assert_eq!(promises(&a, &amounts).decodable, -2.0);
        assert!(promises(&a, &amounts).queue < 0.0);
        assert_eq!(Shield::standard().apply(a, &amounts, &waiting), Action::hold(10.0));
    }

    #[test]
    fn more_than_is_safe_becomes_the_newest() {
        let amounts = Amounts { min_c: 10.0, max_q: 0.0, safe_rate: 12.0 };
        let waiting = Waiting { sizes: [9.0, 8.0, 0.0, 0.0], len: 2 };
        let a = Action { send: Send::All, message: 17.0, rate: 20.0, encode: 10.0 };
        let shielded = Shield::standard().apply(a, &amounts, &waiting);
        assert_eq!(shielded, Action { send: Send::Newest, message: 8.0, rate: 8.0, encode: 10.0 });
    }

    #[test]
    fn a_shield_reads_as_it_prints() {
        let shield = Shield::standard();
        let text = serde_json::to_string(&shield).unwrap();
        assert_eq!(serde_json::from_str::<Shield>(&text).unwrap(), shield);
        for bad in [
            r#"[{"unless": "message < R0", "do": "hold"}]"#,
            r#"[{"unless": "message <= R0", "do": "pray"}]"#,
            r#"[{"cap": "message", "at": {"M": 1}}]"#,
            r#"[{"cap": "rate", "at": {"M": 1}, "x": 1}]"#,
        ] {
            assert!(serde_json::from_str::<Shield>(bad).is_err(), "{bad}");
        }
    }
}
