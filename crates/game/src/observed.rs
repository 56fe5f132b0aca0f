//! Reads windows and models from JSON. Input is checked here, before any arithmetic.

use std::borrow::Cow;

use fairweir_units::Hint;
use serde::Deserialize;

use crate::model::{EPS, LinkModel, Range};
use crate::window::{POINTS, Window};

/// An invalid list of windows, or an invalid model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct ObservedError {
    /// The key, such as `[3].sent`.
    pub key: String,
    /// The error in the value.
    pub reason: String,
    hint: &'static str,
}

impl Hint for ObservedError {
    fn message(&self) -> String {
        self.reason.clone()
    }
    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.hint.into())
    }
}

/// Maximum amount, in packets. Larger amounts lose the sixth decimal place, which comparisons need.
const MAX_AMOUNT: f64 = 1e9;

const WINDOW_HINT: &str = "cumulative packets at 1 to 6 points a step apart, the latest last: sent, delivered, lost (of the points \
                           whose losses are known), lost_before, sent_next";
const MODEL_HINT: &str = "a model is {\"c\": [min, max], \"b\": [min, max]} in packets (a step), with jitter >= 1 in whole steps and \
                          slack >= 0 in packets";

/// The JSON format of a window. `lost` contains only the points whose losses are known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    sent: Vec<f64>,
    delivered: Vec<f64>,
    lost: Vec<f64>,
    #[serde(default)]
    lost_before: f64,
    sent_next: f64,
}

fn read<'a, T: Deserialize<'a>>(text: &'a str, hint: &'static str) -> Result<T, ObservedError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|e| ObservedError {
        key: e.path().to_string(),
        reason: e.inner().to_string(),
        hint,
    })?;
    json.end().map_err(|e| ObservedError { key: ".".into(), reason: e.to_string(), hint })?;
    Ok(value)
}

/// Read a list of windows.
///
/// # Errors
/// The first error, with its key.
pub fn windows_from_json(text: &str) -> Result<Vec<Window>, ObservedError> {
    let documents: Vec<Document> = read(text, WINDOW_HINT)?;
    let check = |(i, document): (usize, &Document)| {
        document.checked().map_err(|(key, reason)| ObservedError {
            key: format!("[{i}].{key}"),
            reason,
            hint: WINDOW_HINT,
        })
    };
    documents.iter().enumerate().map(check).collect()
}

/// Read a model. Absent keys get the values of [`LinkModel::default`].
///
/// # Errors
/// The first error, with its key.
pub fn model_from_json(text: &str) -> Result<LinkModel, ObservedError> {
    let model: LinkModel = read(text, MODEL_HINT)?;
    let refuse = |key: &str, reason: String| Err(ObservedError { key: key.into(), reason, hint: MODEL_HINT });
    for (key, Range { min, max }) in [("c", model.c), ("b", model.b)] {
        if !(min > 0.0 && min <= max && max <= MAX_AMOUNT) {
            return refuse(
                key,
                format!(
                    "`[{min}, {max}]` is not a range with a positive minimum and a maximum of at most {MAX_AMOUNT:e}"
                ),
            );
        }
    }
    if !(1..=1000).contains(&model.jitter) {
        return refuse("jitter", format!("`{}` is not between 1 and 1000 steps", model.jitter));
    }
    if !(0.0..=MAX_AMOUNT).contains(&model.slack) {
        return refuse("slack", format!("`{}` is not between 0 and {MAX_AMOUNT:e} packets", model.slack));
    }
    Ok(model)
}

type Fault = (String, String);

/// Checks that amounts are finite, not negative, at most `MAX_AMOUNT`, and do not decrease.
fn rising(key: &str, values: &[f64], at_least: f64) -> Result<(), Fault> {
    let mut before = at_least;
    for (t, &value) in values.iter().enumerate() {
        let at = || format!("{key}[{t}]");
        if !(0.0..=MAX_AMOUNT).contains(&value) {
            return Err((at(), format!("`{value}` is not between 0 and {MAX_AMOUNT:e} packets")));
        }
        if value < before {
            return Err((at(), format!("`{value}` is below `{before}` before it, but cumulative amounts do not fall")));
        }
        before = value;
    }
    Ok(())
}

impl Document {
    fn checked(&self) -> Result<Window, Fault> {
        let len = self.sent.len();
        if !(1..=POINTS).contains(&len) {
            return Err(("sent".into(), format!("{len} points, expected 1 to {POINTS}")));
        }
        if self.delivered.len() != len {
            return Err(("delivered".into(), format!("{} points, but `sent` has {len}", self.delivered.len())));
        }
        if self.lost.len() > len {
            return Err(("lost".into(), format!("{} points, but `sent` has {len}", self.lost.len())));
        }
        rising("sent", &self.sent, 0.0)?;
        rising("delivered", &self.delivered, 0.0)?;
        rising("lost_before", &[self.lost_before], 0.0).map_err(|(_, reason)| ("lost_before".into(), reason))?;
        rising("lost", &self.lost, self.lost_before)?;
        rising("sent_next", &[self.sent_next], self.sent[len - 1])
            .map_err(|(_, reason)| ("sent_next".into(), reason))?;
        let mut w = Window { len, visible: self.lost.len(), lost_before: self.lost_before, ..Window::fresh() };
        w.sent_next = self.sent_next;
        w.sent[..len].copy_from_slice(&self.sent);
        w.delivered[..len].copy_from_slice(&self.delivered);
        w.lost = [0.0; POINTS];
        w.lost[..w.visible].copy_from_slice(&self.lost);
        self.consistent(&w)?;
        Ok(w)
    }

    /// Checks that by each point, at most the packets sent and not lost were delivered, and that losses are given
    /// exactly for the points at which they can be known.
    fn consistent(&self, w: &Window) -> Result<(), Fault> {
        let end = w.delivered_last();
        for t in 0..w.len {
            let lost = if t < w.visible { w.lost[t] } else { w.lost_known() };
            let most = w.sent[t] - lost;
            if w.delivered[t] > most + EPS {
                let reason = format!("`{}`, but only {} were sent and not lost by then", w.delivered[t], most.max(0.0));
                return Err((format!("delivered[{t}]"), reason));
            }
            if t < w.visible && end < most - EPS {
                let reason =
                    format!("point {t}'s losses cannot be known: {most} sent and not lost, {end} delivered yet");
                return Err((format!("lost[{t}]"), reason));
            }
            if t == w.visible && most <= end {
                let reason =
                    format!("point {t}'s losses are known ({lost} by then): all of its other packets are delivered");
                return Err(("lost".into(), reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"sent": [5, 10, 15], "delivered": [5, 8, 11], "lost": [0, 1], "sent_next": 20}"#;

    #[test]
    fn a_window_is_read() {
        let windows = windows_from_json(&format!("[{GOOD}]")).expect("good");
        assert_eq!((windows[0].len, windows[0].visible, windows[0].lost_known()), (3, 2, 1.0));
    }

    #[test]
    fn impossible_observations_are_rejected_with_their_key() {
        for (from, to, key) in [
            ("[5, 10, 15]", "[]", "[0].sent"),
            ("[5, 10, 15]", "[1, 2, 3, 4, 5, 6, 7]", "[0].sent"),
            ("[5, 10, 15]", "[5, 10]", "[0].delivered"),
            ("[5, 10, 15]", "[5, 4, 15]", "[0].sent[1]"),
            ("[5, 10, 15]", "[5, 10, -1]", "[0].sent[2]"),
            ("[5, 10, 15]", "[5, 10, 1e300]", "[0].sent[2]"),
            ("[5, 10, 15]", "[5, 10, 1e999]", "[0].sent[2]"),
            ("[5, 10, 15]", "[5, 10, NaN]", "[0].sent[2]"),
            ("[5, 8, 11]", "[5, 8, 7]", "[0].delivered[2]"),
            ("[5, 8, 11]", "[6, 8, 11]", "[0].delivered[0]"),
            ("[5, 8, 11]", "[5, 8, 20]", "[0].delivered[2]"),
            ("[0, 1]", "[0, 1, 2, 3]", "[0].lost"),
            ("[0, 1]", "[1, 0]", "[0].lost[1]"),
            ("[0, 1]", "[0, 1, 1]", "[0].lost[2]"),
            ("[0, 1]", "[0]", "[0].lost"),
            ("20}", "14}", "[0].sent_next"),
            ("20}", "20, \"lost_before\": 2}", "[0].lost[0]"),
            ("20}", "20, \"lost_before\": -2}", "[0].lost_before"),
            ("20}", "20, \"rate\": 2}", "[0].rate"),
        ] {
            let text = format!("[{}]", GOOD.replacen(from, to, 1));
            let wrong = windows_from_json(&text).expect_err(to);
            assert_eq!(wrong.key, key, "{to}: {wrong}");
        }
    }

    #[test]
    fn a_model_that_is_none_is_rejected_with_its_key() {
        assert_eq!(model_from_json("{}").expect("the default"), LinkModel::default());
        for (text, key) in [
            (r#"{"c": [0, 5]}"#, "c"),
            (r#"{"b": [6, 5]}"#, "b"),
            (r#"{"b": [6, 1e30]}"#, "b"),
            (r#"{"jitter": 0}"#, "jitter"),
            (r#"{"slack": -1}"#, "slack"),
            (r#"{"c": [1, 2, 3]}"#, "c"),
            (r#"{"d": 1}"#, "d"),
        ] {
            assert_eq!(model_from_json(text).expect_err(text).key, key);
        }
    }
}
