//! `fairweir-quiche`: `fairweir-quic` with another stack, quiche, which reads the C library's clock.
//!
//! The clock and the random bytes of this process are virtual ([`interpose`]), so that a run depends on its scenario
//! alone. BoringSSL keeps the state of its random number generator between runs, so each run needs a new process.

mod interpose;

use std::process::ExitCode;

/// The C library returns free memory to the system above the first limit, bytes, and maps allocations above the second
/// separately. Both are raised because quiche allocates and frees its buffers with each batch.
const KEPT: [(libc::c_int, libc::c_int); 2] = [(libc::M_TRIM_THRESHOLD, 1 << 30), (libc::M_MMAP_THRESHOLD, 1 << 25)];

fn main() -> ExitCode {
    // SAFETY: `main` has just begun: there is one thread, and BoringSSL has no code that runs before.
    unsafe { hide_rdrand() };
    for (option, bytes) in KEPT {
        // SAFETY: one thread, as above; both are numbers.
        unsafe { libc::mallopt(option, bytes) };
    }
    fairweir_quic::program::main("fairweir-quiche")
}

/// Disables BoringSSL's use of RDRAND, whose bytes cannot be seeded. BoringSSL mixes them into its random numbers on
/// processors on which the instruction is fast.
///
/// # Safety
/// No other thread runs, and BoringSSL has not been called.
unsafe fn hide_rdrand() {
    // SAFETY: no other thread reads or writes the environment. Inverted bits are cleared: bit 62 is RDRAND.
    unsafe { std::env::set_var("OPENSSL_ia32cap", "~0x4000000000000000") };
}
