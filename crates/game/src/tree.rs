//! A decision tree with linear splits and linear leaves. It is the part of a controller file that decides.

use crate::action::{Send, Template};
use crate::features::{COUNT, FEATURES, index_of};
use crate::form::Form;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The maximum number of nodes in a file; larger trees are not readable.
pub const MAX_NODES: usize = 10_000;

/// A linear form of features: the left side of a split.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Indices in [`FEATURES`], increasing, with their coefficients.
    terms: Vec<(usize, f64)>,
}

impl Split {
    /// Returns the split on the feature at `index` only.
    pub fn one(index: usize) -> Split {
        Split { terms: vec![(index, 1.0)] }
    }

    /// Indices in [`FEATURES`], increasing, with their coefficients.
    pub fn terms(&self) -> &[(usize, f64)] {
        &self.terms
    }

    /// Return the value. The products are added to 0 in the order of [`FEATURES`], so that other implementations get
    /// the same bits.
    pub fn at(&self, x: &[f64; COUNT]) -> f64 {
        self.terms.iter().fold(0.0, |sum, &(i, c)| sum + c * x[i])
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, &(i, c)) in self.terms.iter().enumerate() {
            match (k, c < 0.0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, negative) => f.write_str(if negative { " - " } else { " + " })?,
            }
            if c.abs() != 1.0 {
                write!(f, "{} ", c.abs())?;
            }
            f.write_str(FEATURES[i].name)?;
        }
        Ok(())
    }
}

impl Serialize for Split {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.terms.len()))?;
        for &(i, c) in &self.terms {
            map.serialize_entry(FEATURES[i].name, &c)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Split {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Split, D::Error> {
        struct Terms;
        impl<'de> Visitor<'de> for Terms {
            type Value = Split;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("features with coefficients such as {\"q\": 1.0}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Split, A::Error> {
                let mut terms: Vec<(usize, f64)> = Vec::new();
                while let Some((name, c)) = map.next_entry::<String, f64>()? {
                    let names = || FEATURES.map(|f| f.name).join(", ");
                    let i = index_of(&name).ok_or_else(|| {
                        A::Error::custom(format!("unknown feature `{name}`, expected one of {}", names()))
                    })?;
                    if terms.iter().any(|&(j, _)| j == i) {
                        return Err(A::Error::custom(format!("the feature `{name}` is given twice")));
                    }
                    if !c.is_finite() {
                        return Err(A::Error::custom(format!("the coefficient of `{name}` is not finite")));
                    }
                    terms.push((i, c));
                }
                if terms.is_empty() {
                    return Err(A::Error::custom("a split must name at least one feature"));
                }
                terms.sort_unstable_by_key(|&(i, _)| i);
                Ok(Split { terms })
            }
        }
        deserializer.deserialize_map(Terms)
    }
}

/// Action of a leaf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaf {
    /// A name for readers, such as the template's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Selection of the batches that are sent; omitted in controllers that decide only a rate.
    #[serde(default = "no_batch", skip_serializing_if = "is_no_batch")]
    pub send: Send,
    /// Rate, packets per step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rate: Form,
    /// Target size of the next frames, packets; default: they are skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub encode: Form,
}

pub(crate) fn no_batch() -> Send {
    Send::None
}

fn is_no_batch(send: &Send) -> bool {
    *send == Send::None
}

fn is_zero(form: &Form) -> bool {
    *form == Form::ZERO
}

impl Leaf {
    /// Returns the leaf as a template.
    pub fn template(&self) -> Template {
        Template { send: self.send, rate: self.rate, encode: self.encode }
    }
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// If `split <= at_most`, continue at `then`, otherwise (also for NaN) at `otherwise`.
    Split {
        /// The compared linear form.
        split: Split,
        /// The threshold.
        at_most: f64,
        /// Index of the node for values up to the threshold; larger than this node's index.
        then: usize,
        /// Index of the node for other values; larger than this node's index.
        otherwise: usize,
    },
    /// An action.
    Leaf(Leaf),
}

/// A node with all keys that occur in nodes.
#[derive(Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
struct AnyNode {
    #[serde(skip_serializing_if = "Option::is_none")]
    feature: Option<Split>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    then: Option<usize>,
    #[serde(rename = "else", skip_serializing_if = "Option::is_none")]
    otherwise: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf: Option<Leaf>,
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Node::Split { split, at_most, then, otherwise } => AnyNode {
                feature: Some(split),
                at_most: Some(at_most),
                then: Some(then),
                otherwise: Some(otherwise),
                leaf: None,
            },
            Node::Leaf(leaf) => AnyNode { leaf: Some(leaf), ..AnyNode::default() },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        let any = AnyNode::deserialize(deserializer)?;
        match (any.feature, any.at_most, any.then, any.otherwise, any.leaf) {
            (None, None, None, None, Some(leaf)) => Ok(Node::Leaf(leaf)),
            (Some(split), Some(at_most), Some(then), Some(otherwise), None) => {
                Ok(Node::Split { split, at_most, then, otherwise })
            }
            _ => {
                Err(D::Error::custom("a node must have either only `leaf`, or `feature`, `at_most`, `then` and `else`"))
            }
        }
    }
}

/// A list of nodes, the root first, all of which are reachable.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Tree {
    nodes: Vec<Node>,
}

/// An error in a list of nodes: the node, the key in it, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFault {
    /// Index of the node.
    pub node: usize,
    /// The key within the node; empty if the error is in the node itself.
    pub key: &'static str,
    /// The error.
    pub reason: String,
}

impl Tree {
    /// Check nodes: indices increase from parent to child, so there is no cycle; every node is reached by exactly one
    /// path; all numbers are finite.
    ///
    /// # Errors
    /// The first fault.
    pub fn new(nodes: Vec<Node>) -> Result<Tree, TreeFault> {
        let fault = |node, key, reason: String| Err(TreeFault { node, key, reason });
        if nodes.is_empty() || nodes.len() > MAX_NODES {
            return fault(0, "", format!("{} nodes, expected 1 to {MAX_NODES}", nodes.len()));
        }
        let mut parent: Vec<Option<usize>> = vec![None; nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            let Node::Split { at_most, then, otherwise, .. } = node else { continue };
            if !at_most.is_finite() {
                return fault(i, "at_most", format!("`{at_most}` is not finite"));
            }
            for (key, &child) in [("then", then), ("else", otherwise)] {
                if child <= i {
                    return fault(i, key, format!("`{child}` is not larger than the node's own index {i}"));
                }
                if child >= nodes.len() {
                    return fault(i, key, format!("`{child}` is not an index of the {} nodes", nodes.len()));
                }
                if let Some(other) = parent[child].replace(i) {
                    return fault(i, key, format!("`{child}` is already a child of node {other}"));
                }
            }
        }
        match parent.iter().skip(1).position(Option::is_none) {
            Some(i) => fault(i + 1, "", "no node has this node as a child".to_owned()),
            None => Ok(Tree { nodes }),
        }
    }

    /// The nodes, the root first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the index of the leaf that `x` reaches, and the leaf.
    pub fn leaf(&self, x: &[f64; COUNT]) -> (usize, &Leaf) {
        let mut i = 0;
        loop {
            match &self.nodes[i] {
                Node::Split { split, at_most, then, otherwise } => {
                    i = if split.at(x) <= *at_most { *then } else { *otherwise };
                }
                Node::Leaf(leaf) => return (i, leaf),
            }
        }
    }

    /// Returns the indices of the nodes from the root to the leaf that `x` reaches.
    pub fn path(&self, x: &[f64; COUNT]) -> Vec<usize> {
        let mut path = vec![0];
        while let Node::Split { split, at_most, then, otherwise } = &self.nodes[path[path.len() - 1]] {
            path.push(if split.at(x) <= *at_most { *then } else { *otherwise });
        }
        path
    }

    /// Returns the path to the leaf in words. Each line has one comparison with its numbers.
    pub fn explain(&self, x: &[f64; COUNT]) -> Vec<String> {
        let path = self.path(x);
        let mut lines = Vec::with_capacity(path.len());
        for pair in path.windows(2) {
            if let Node::Split { split, at_most, then, .. } = &self.nodes[pair[0]] {
                let sign = if pair[1] == *then { "<=" } else { ">" };
                lines.push(format!("{split} = {:.4} {sign} {at_most:.4}", split.at(x)));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(then: usize, otherwise: usize) -> Node {
        Node::Split { split: Split::one(1), at_most: 1.25, then, otherwise }
    }

    fn leaf() -> Node {
        Node::Leaf(Leaf { name: None, send: Send::Newest, rate: Form::ZERO, encode: Form::ZERO })
    }

    #[test]
    fn an_invalid_tree_is_rejected() {
        let of = |nodes: Vec<Node>| Tree::new(nodes).map_err(|f| (f.node, f.key));
        assert_eq!(of(vec![]), Err((0, "")));
        assert_eq!(of(vec![split(0, 1), leaf()]), Err((0, "then")));
        assert_eq!(of(vec![split(1, 2), leaf(), split(1, 3), leaf()]), Err((2, "then")));
        assert_eq!(of(vec![split(1, 2), leaf()]), Err((0, "else")));
        assert_eq!(of(vec![split(1, 1), leaf()]), Err((0, "else")));
        assert_eq!(of(vec![split(1, 2), split(2, 3), leaf(), leaf()]), Err((1, "then")));
        assert_eq!(of(vec![leaf(), leaf()]), Err((1, "")));
        assert_eq!(of(vec![split(1, 2), leaf(), leaf(), leaf()]), Err((3, "")));
        let nan = Node::Split { split: Split::one(0), at_most: f64::NAN, then: 1, otherwise: 2 };
        assert_eq!(of(vec![nan, leaf(), leaf()]), Err((0, "at_most")));
        assert!(of(vec![split(1, 2), leaf(), leaf()]).is_ok());
    }

    #[test]
    fn the_threshold_itself_goes_to_then() {
        let tree = Tree::new(vec![split(1, 2), leaf(), leaf()]).unwrap();
        let mut x = [0.0; COUNT];
        for (q, reached) in [(1.25, 1), (1.25 + f64::EPSILON, 2), (f64::NAN, 2), (f64::NEG_INFINITY, 1)] {
            x[1] = q;
            assert_eq!(tree.leaf(&x).0, reached, "{q}");
            assert_eq!(tree.path(&x), [0, reached]);
        }
        x[1] = 2.0;
        assert_eq!(tree.explain(&x), ["q = 2.0000 > 1.2500"]);
    }

    #[test]
    fn a_split_sums_in_the_order_of_the_features() {
        let split: Split = serde_json::from_str(r#"{"r0": -0.1, "q": 3, "converged": 0.7}"#).unwrap();
        assert_eq!(split.to_string(), "0.7 converged + 3 q - 0.1 r0");
        let mut x = [0.0; COUNT];
        (x[0], x[1], x[2]) = (0.1, 0.3, 0.2);
        assert_eq!(split.at(&x), 0.7 * 0.1 + 3.0 * 0.3 + -0.1 * 0.2);
        for bad in ["{}", r#"{"z": 1}"#, r#"{"q": 1, "q": 2}"#, r#"{"q": null}"#, "3"] {
            assert!(serde_json::from_str::<Split>(bad).is_err(), "{bad}");
        }
    }
}
