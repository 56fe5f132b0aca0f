//! Whole stacks over the paths of scenarios.

mod common;
mod hosted;
mod hostile;
mod program;
mod stacks;
