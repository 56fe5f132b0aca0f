//! Checks of the kernel world's requirements on this machine.

use crate::{Namespace, cca};
use fairweir_kernel::doctor::Check;
use std::fs::OpenOptions;

/// Tries every operation that a run needs, and undoes it.
pub fn examine() -> Vec<Check> {
    let mut checks = fairweir_kernel::doctor::checks();
    checks.extend([network_namespaces(), tun(), real_time(), congestion_controls()]);
    checks
}

fn check<E: ToString>(name: &'static str, tried: Result<&str, E>) -> Check {
    let ok = tried.is_ok();
    Check { name, ok, detail: tried.map_or_else(|e| e.to_string(), str::to_owned) }
}

fn network_namespaces() -> Check {
    check("network namespaces", Namespace::new().map(|_| "created and removed"))
}

fn tun() -> Check {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    check("TUN devices", opened.map(|_| "/dev/net/tun").map_err(|e| format!("/dev/net/tun: {e}")))
}

/// Checks that the emulator's thread can run with real-time priority, on a thread that ends at once.
fn real_time() -> Check {
    let tried = std::thread::spawn(|| {
        let param = libc::sched_param { sched_priority: 1 };
        // SAFETY: the parameter outlives the call, which affects only the calling thread.
        match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) } {
            0 => Ok("SCHED_FIFO is permitted"),
            _ => Err(format!("SCHED_FIFO: {}; packets will be late", std::io::Error::last_os_error())),
        }
    });
    check("real-time scheduling", tried.join().unwrap_or_else(|_| Err("not tested".to_owned())))
}

fn congestion_controls() -> Check {
    let names: Vec<String> = cca::available().into_iter().collect();
    Check { name: "congestion controls", ok: !names.is_empty(), detail: names.join(" ") }
}
