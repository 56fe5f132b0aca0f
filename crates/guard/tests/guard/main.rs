//! The core from the outside: packets in, decisions out.

mod background;
mod cap;
mod faults;
mod flow;
mod peer;
mod service;
mod table;
