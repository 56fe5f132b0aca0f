//! A forest of boosted decision trees that classifies flows, small enough for a processor's cache.
//!
//! The score of a class is the sum of its trees' leaves, in the order in which the trees were grown. Scores therefore
//! equal those of the trainer (scikit-learn's `HistGradientBoostingClassifier`) bit for bit. The result is the class
//! with the highest score, the first of equal ones.
//!
//! **Source**: CMU-CS-24-129 §5.2. The published forests (3 × 100 trees of up to 10,000 leaves) are limited by memory
//! access.

use crate::features::{Feature, ParseError};
use crate::policy::{Class, Classify};
use fairweir_units::Hint;
use serde::Deserialize;
use std::borrow::Cow;

const CLASSES: usize = 3;
/// Marks a leaf.
const LEAF: u16 = u16::MAX;

/// Errors of a forest file.
#[derive(Debug, thiserror::Error)]
pub enum TreesError {
    /// The text is not JSON, or lacks the required structure.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// An unknown feature.
    #[error("features: {0}")]
    Feature(#[from] ParseError),
    /// The trees are inconsistent.
    #[error("trees.{tree}: {reason}")]
    Tree {
        /// Index of the tree, from 0.
        tree: usize,
        /// The error.
        reason: &'static str,
    },
    /// The number of classes is wrong.
    #[error("baseline must have {CLASSES} numbers")]
    Classes,
}

impl Hint for TreesError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some("write one with `fairweir guard train`".into())
    }
}

/// Format of a forest file.
#[derive(Debug, Deserialize)]
struct File {
    features: Vec<String>,
    /// Scores before the first tree: below, near, above.
    baseline: Vec<f64>,
    trees: Vec<FileTree>,
}

/// Columns of a tree's nodes, the root first. For a leaf, `feature` is -1 and `value` is its score. For other nodes,
/// `value` is the threshold; values not above it continue at the left child.
#[derive(Debug, Deserialize)]
struct FileTree {
    class: usize,
    feature: Vec<i32>,
    value: Vec<f64>,
    left: Vec<u32>,
    right: Vec<u32>,
    is_unknown_left: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    value: f64,
    left: u32,
    right: u32,
    feature: u16,
    is_unknown_left: bool,
}

/// A trained forest.
#[derive(Clone, Debug)]
pub struct Trees {
    features: Vec<Feature>,
    baseline: [f64; CLASSES],
    nodes: Vec<Node>,
    /// Root and class of each tree.
    roots: Vec<(u32, usize)>,
}

impl Trees {
    /// Reads a forest from its JSON text.
    ///
    /// # Errors
    /// If it is not a forest; see [`TreesError`].
    pub fn from_json(text: &str) -> Result<Trees, TreesError> {
        let file: File = serde_json::from_str(text)?;
        let features = file.features.iter().map(|name| name.parse()).collect::<Result<Vec<Feature>, _>>()?;
        let baseline = file.baseline.try_into().map_err(|_| TreesError::Classes)?;
        let mut trees = Trees { features, baseline, nodes: Vec::new(), roots: Vec::new() };
        for (tree, columns) in file.trees.iter().enumerate() {
            trees.add(columns).map_err(|reason| TreesError::Tree { tree, reason })?;
        }
        Ok(trees)
    }

    fn add(&mut self, tree: &FileTree) -> Result<(), &'static str> {
        let (root, length) = (self.nodes.len() as u32, tree.feature.len());
        let is_even = [tree.value.len(), tree.left.len(), tree.right.len(), tree.is_unknown_left.len()] == [length; 4];
        if length == 0 || !is_even {
            return Err("its columns must have equal lengths of at least 1");
        }
        if tree.class >= CLASSES {
            return Err("its class must be 0, 1 or 2");
        }
        for i in 0..length {
            let is_leaf = tree.feature[i] < 0;
            let (left, right) = (tree.left[i], tree.right[i]);
            // Children come after their parents, so that every path ends.
            let is_ahead = |child: u32| child as usize > i && (child as usize) < length;
            if !(is_leaf || is_ahead(left) && is_ahead(right)) {
                return Err("a node's children must have larger indices than the node");
            }
            if !is_leaf && tree.feature[i] as usize >= self.features.len() {
                return Err("a node uses an unknown feature");
            }
            self.nodes.push(Node {
                value: tree.value[i],
                left: root.saturating_add(left),
                right: root.saturating_add(right),
                feature: u16::try_from(tree.feature[i]).unwrap_or(LEAF),
                is_unknown_left: tree.is_unknown_left[i],
            });
        }
        self.roots.push((root, tree.class));
        Ok(())
    }

    /// The scores of a row: below, near, above.
    ///
    /// # Panics
    /// If the row is shorter than [`Classify::features`].
    pub fn scores(&self, row: &[Option<f64>]) -> [f64; CLASSES] {
        let mut scores = self.baseline;
        for &(root, class) in &self.roots {
            scores[class] += self.leaf(root, row);
        }
        scores
    }

    fn leaf(&self, root: u32, row: &[Option<f64>]) -> f64 {
        let mut node = &self.nodes[root as usize];
        while node.feature != LEAF {
            let is_left = match row[usize::from(node.feature)] {
                Some(value) => value <= node.value,
                None => node.is_unknown_left,
            };
            node = &self.nodes[if is_left { node.left } else { node.right } as usize];
        }
        node.value
    }

    /// Returns the number of nodes of all trees.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no tree.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }
}

impl Classify for Trees {
    fn features(&self) -> Vec<Feature> {
        self.features.clone()
    }

    /// Evaluates one tree after the other, so that each is in the cache for all rows.
    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
        let mut scores = vec![self.baseline; rows.len()];
        for &(root, class) in &self.roots {
            for (row, scores) in rows.iter().zip(&mut scores) {
                scores[class] += self.leaf(root, row);
            }
        }
        scores
            .iter()
            .map(|[below, near, above]| {
                if below >= near && below >= above {
                    Class::Below
                } else if near >= above {
                    Class::Near
                } else {
                    Class::Above
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREST: &str = r#"{
        "features": ["rtt_us", "loss_rate.window8"], "baseline": [0.5, 0.25, 0.0],
        "trees": [
            {"class": 2, "feature": [0, -1, 1, -1, -1], "value": [10.0, -1.0, 0.1, 2.0, 3.0],
             "left": [1, 0, 3, 0, 0], "right": [2, 0, 4, 0, 0], "is_unknown_left": [true, false, false, false, false]},
            {"class": 0, "feature": [-1], "value": [0.125], "left": [0], "right": [0], "is_unknown_left": [false]}
        ]}"#;

    fn forest() -> Trees {
        Trees::from_json(FOREST).expect("a forest")
    }

    #[test]
    fn a_row_walks_every_tree() {
        let forest = forest();
        assert_eq!((forest.len(), forest.features().len()), (6, 2));
        for (row, above) in [
            ([Some(10.0), None], -1.0),
            ([None, None], -1.0),
            ([Some(10.5), Some(0.1)], 2.0),
            ([Some(10.5), Some(0.2)], 3.0),
            ([Some(10.5), None], 3.0),
        ] {
            assert_eq!(forest.scores(&row), [0.625, 0.25, above]);
            let class = if above < 0.0 { Class::Below } else { Class::Above };
            assert_eq!(forest.classify(&[&row, &[None, None]]), [class, Class::Below]);
        }
    }

    #[test]
    fn ties_go_to_the_better_class() {
        let text = r#"{"features": [], "baseline": [0.5, 1.0, 1.0], "trees": []}"#;
        assert_eq!(Trees::from_json(text).expect("a forest").classify(&[&[]]), [Class::Near]);
    }

    #[test]
    fn an_invalid_forest_is_rejected() {
        for (change, message) in [
            (("rtt_us", "rtt"), "features: unknown feature `rtt`"),
            (("0.5, 0.25, 0.0", "0.5"), "baseline must have 3 numbers"),
            (("\"class\": 0", "\"class\": 3"), "trees.1: its class must be 0, 1 or 2"),
            (
                ("[1, 0, 3, 0, 0]", "[0, 0, 3, 0, 0]"),
                "trees.0: a node's children must have larger indices than the node",
            ),
            (
                ("[1, 0, 3, 0, 0]", "[9, 0, 3, 0, 0]"),
                "trees.0: a node's children must have larger indices than the node",
            ),
            (("[0, -1, 1, -1, -1]", "[0, -1, 2, -1, -1]"), "trees.0: a node uses an unknown feature"),
            (("[0.125]", "[]"), "trees.1: its columns must have equal lengths of at least 1"),
        ] {
            let error = Trees::from_json(&FOREST.replace(change.0, change.1)).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
    }
}
