//! `fairweir-quic`: whole QUIC stacks in virtual time, as a program of its own ([`fairweir_quic::program`]).

use std::process::ExitCode;

fn main() -> ExitCode {
    fairweir_quic::program::main("fairweir-quic")
}
