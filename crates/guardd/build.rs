//! Compiles `bpf/guard/` for the kernel at build time, so that the daemon needs no compiler at run time. For each
//! object it also writes a skeleton: the object's maps, programs, variables and records as Rust types.

use libbpf_cargo::SkeletonBuilder;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

fn main() {
    let path = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")));
    let bpf = path("CARGO_MANIFEST_DIR").join("../../bpf");
    let sources = bpf.join("guard");
    for header in ["tcp.h", "core.h"].map(|name| bpf.join(name)) {
        println!("cargo:rerun-if-changed={}", header.display());
    }
    for entry in fs::read_dir(&sources).expect("bpf/guard/ is readable") {
        println!("cargo:rerun-if-changed={}", entry.expect("bpf/guard/ is readable").path().display());
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = env::var_os("CLANG").filter(|c| !c.is_empty()).unwrap_or_else(|| "clang".into());
    for program in ["guard", "owners", "dns"] {
        let object = path("OUT_DIR").join(format!("{program}.o"));
        let status = Command::new(&clang)
            .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-Wno-unknown-attributes", "-I"])
            .arg(&bpf)
            .arg("-I")
            .arg(path("DEP_BPF_INCLUDE"))
            .arg("-c")
            .arg(sources.join(format!("{program}.bpf.c")))
            .arg("-o")
            .arg(&object)
            .status()
            .unwrap_or_else(|e| panic!("{}: {e}; install clang 14 or later, or name one in CLANG", clang.display()));
        assert!(status.success(), "clang rejects bpf/guard/{program}.bpf.c");
        SkeletonBuilder::new()
            .obj(&object)
            .reference_obj(true)
            .generate(path("OUT_DIR").join(format!("{program}.skel.rs")))
            .unwrap_or_else(|e| panic!("bpf/guard/{program}.bpf.c: {e:#}"));
    }
}
