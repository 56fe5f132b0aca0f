//! Whether a flow takes more or less than its receiver's target.

use crate::features::Feature;
use std::fmt::Debug;

/// A flow's rate against its target B/N (CMU-CS-24-129, equation 1), the better class first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Under 0.9 of it.
    Below,
    /// Within 10 % of it.
    Near,
    /// Over 1.1 of it.
    Above,
}

/// A trained model, or another classifier.
pub trait Classify: Debug + Send {
    /// The features that it needs; rows have this order.
    fn features(&self) -> Vec<Feature>;

    /// A class for each of `rows`, in their order.
    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class>;
}
