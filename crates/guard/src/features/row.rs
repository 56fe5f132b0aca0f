//! Values that may be unknown.

use super::Plan;

/// One optional value per feature of a plan, in the plan's order. Values are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    values: Vec<f64>,
    known: Vec<bool>,
}

impl Row {
    /// Creates a row in which all values are unknown.
    pub fn for_plan(plan: &Plan) -> Row {
        Row { values: vec![0.0; plan.features().len()], known: vec![false; plan.features().len()] }
    }
    /// Returns the value at `slot`.
    ///
    /// # Panics
    /// If the plan has no such feature.
    pub fn get(&self, slot: usize) -> Option<f64> {
        self.known[slot].then_some(self.values[slot])
    }
    pub(crate) fn set(&mut self, slot: usize, value: Option<f64>) {
        let value = value.filter(|v| v.is_finite());
        self.known[slot] = value.is_some();
        self.values[slot] = value.unwrap_or(0.0);
    }
    /// Returns all values in the plan's order.
    pub fn iter(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        (0..self.values.len()).map(|slot| self.get(slot))
    }
}
