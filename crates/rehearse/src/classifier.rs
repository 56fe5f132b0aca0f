//! The classifier that a policy file names.

use crate::fair_share::{FAIR_SHARE, FairShare};
use fairweir_guard::policy::{Classify, Config};
use fairweir_guard::{Trees, TreesError};
use fairweir_units::Rate;

/// Returns the classifier of `config`'s flow policy: [`FairShare`] if the policy's model has that name and the link's
/// `rate` is given, `forest` (JSON) for any other model. Returns `None` without a flow policy, or if the rate or the
/// forest is not given.
///
/// # Errors
/// If `forest` is invalid.
pub fn classifier(
    config: &Config,
    rate: Option<Rate>,
    forest: Option<&str>,
) -> Result<Option<Box<dyn Classify>>, TreesError> {
    let model = config.flow.as_ref().map(|flow| flow.model.as_str());
    Ok(match (model, rate, forest) {
        (Some(FAIR_SHARE), Some(rate), _) => Some(Box::new(FairShare { rate })),
        (Some(_), _, Some(forest)) => Some(Box::new(Trees::from_json(forest)?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether there is a classifier; `None` if an error occurred.
    fn found(policies: &str, rate: Option<Rate>, forest: Option<&str>) -> Option<bool> {
        classifier(&Config::from_toml(policies).unwrap(), rate, forest).ok().map(|found| found.is_some())
    }

    #[test]
    fn a_model_needs_its_rate_or_its_forest() {
        let (rate, forest) = (Some(Rate::from_mbps(10)), Some("{}"));
        let (fair_share, trees) = ("[flow]\nmodel = 'fair-share'\n", "[flow]\nmodel = 'trees.json'\n");
        assert_eq!(found("", rate, forest), Some(false));
        assert_eq!(found(fair_share, rate, forest), Some(true), "the forest is not read");
        assert_eq!(found(fair_share, None, None), Some(false));
        assert_eq!(found(trees, rate, None), Some(false));
        assert_eq!(found(trees, rate, forest), None, "an empty object is not a forest");
    }
}
