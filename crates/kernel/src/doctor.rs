//! Checks which features for BPF controllers this machine supports.

use crate::{Cca, Source, libbpf};
use fairweir_units::Hint;
use nix::unistd::geteuid;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// A requirement, and whether it is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The requirement.
    pub name: &'static str,
    /// Whether the requirement is met.
    pub ok: bool,
    /// Details of the check's result.
    pub detail: String,
}

/// Tries each step between a source and a registered controller, where trying it is harmless.
pub fn checks() -> Vec<Check> {
    let (major, minor) = libbpf::kernel_version();
    let is_root = geteuid().is_root();
    let compiled = Source::named("expo").and_then(|source| source.compile(false));
    let outcome = |ok: bool, yes: &str, no: &str| (ok, if ok { yes } else { no }.to_owned());
    let check = |name, (ok, detail)| Check { name, ok, detail };
    let detail = |e: &crate::KernelError| match e.hint() {
        Some(hint) => format!("{e} ({hint})"),
        None => e.to_string(),
    };
    let mut checks = vec![
        check("root", outcome(is_root, "yes", "no: programs are loaded as root")),
        check("Linux 6.1 or later", ((major, minor) >= (6, 1), format!("{major}.{minor}"))),
        check(
            "kernel type information",
            outcome(
                Path::new("/sys/kernel/btf/vmlinux").exists(),
                "/sys/kernel/btf/vmlinux",
                "CONFIG_DEBUG_INFO_BTF is off",
            ),
        ),
        check(
            "clang for BPF",
            compiled.as_ref().map_or_else(|e| (false, detail(e)), |_| (true, "compiles".to_owned())),
        ),
    ];
    if let (true, Ok(compiled)) = (is_root, &compiled) {
        let loaded = Cca::load(compiled, &Value::Null);
        checks.push(check(
            "BPF struct_ops",
            loaded
                .map_or_else(|e| (false, detail(&e)), |_| (true, "a controller was registered and removed".to_owned())),
        ));
    }
    checks
}
