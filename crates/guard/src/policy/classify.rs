//! Classification of flows by their rate relative to their target, an equal share of the link: B/N for a link rate B
//! and N flows.

use crate::features::Feature;
use std::fmt::Debug;

/// A flow's rate relative to its target B/N (CMU-CS-24-129, equation 1). Classes are in the order of increasing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Below 0.9 of the target.
    Below,
    /// Within 10 % of the target.
    Near,
    /// Above 1.1 of the target.
    Above,
}

/// A trained model, or another classifier.
pub trait Classify: Debug + Send {
    /// Returns the features that the classifier needs; the values of a row have this order.
    fn features(&self) -> Vec<Feature>;

    /// Returns a class for each of `rows`, in the same order.
    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class>;
}
