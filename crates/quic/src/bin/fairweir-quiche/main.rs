//! `fairweir-quiche`: `fairweir-quic` with one more stack, quiche, which reads the C library's clock.
//!
//! The clock and the entropy of this process are virtual ([`interpose`]), so that a run depends on its scenario alone;
//! BoringSSL's random numbers go on where the last run left them, hence one run a process.

mod interpose;

use std::process::ExitCode;

/// Free memory that the C library keeps rather than returns to the system, bytes; and the largest allocation of which it
/// does: quiche's buffers come and go with each batch.
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

/// Makes BoringSSL believe that the processor has no RDRAND, whose bytes nobody can seed; it mixes them into its random
/// numbers on processors where the instruction is fast.
///
/// # Safety
/// No other thread runs, and BoringSSL has not been called.
unsafe fn hide_rdrand() {
    // SAFETY: no other thread reads or writes the environment. Inverted bits are cleared: bit 62 is RDRAND.
    unsafe { std::env::set_var("OPENSSL_ia32cap", "~0x4000000000000000") };
}
