//! Reads the versions of the stacks from `Cargo.lock`, so that no version is written twice.

use std::path::Path;

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let lock = Path::new(&folder)
        .ancestors()
        .map(|folder| folder.join("Cargo.lock"))
        .find(|path| path.exists())
        .expect("a Cargo.lock in this folder or above it");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = std::fs::read_to_string(&lock).expect("a readable Cargo.lock");
    for package in ["quinn-proto", "noq-proto", "s2n-quic-core"] {
        let mut lines = text.lines().skip_while(|line| *line != format!("name = \"{package}\"")).skip(1);
        let version = lines
            .next()
            .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
            .unwrap_or_else(|| panic!("no version of {package} in {}", lock.display()));
        println!("cargo::rustc-env=VERSION_{}={version}", package.replace('-', "_").to_uppercase());
    }
}
