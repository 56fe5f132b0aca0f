//! Whole stacks over the paths of scenarios.

mod common;
mod hostile;
mod program;
mod stacks;
