//! Prints the report of a capture as JSON: `cargo run --release -p fairweir-beliefs --example explain CAPTURE`.

use fairweir_beliefs::report;
use std::fs::File;
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let explained = report(File::open(&path)?, &mut |_| ControlFlow::Continue(()))?;
        println!("{}", serde_json::to_string(&explained)?);
    }
    Ok(())
}
