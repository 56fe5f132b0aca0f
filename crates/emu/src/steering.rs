//! Receive packet steering: selects the CPUs that process packets that arrive at a device.
//!
//! Without steering, the thread that writes a packet to a TUN device also runs the receiver's TCP processing. In the
//! emulator this takes most of the thread's time and makes packets late at hundreds of megabits per second.

use crate::EmuError;
use fairweir_units::During;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, CpuSet, unshare};
use std::fs;

/// Lets the CPUs `cpus` process packets that arrive at `device` of the calling thread's network namespace. The calling
/// thread gets a private mount of `/sys` for that namespace and should exit soon afterwards.
///
/// # Errors
/// If the kernel does not support steering, or refuses the mounts.
pub(crate) fn steer(device: &str, cpus: &CpuSet) -> Result<(), EmuError> {
    unshare(CloneFlags::CLONE_NEWNS).during(|| "make a mount namespace".into())?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).during(|| "keep mounts private".into())?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>)
        .during(|| "see the namespace's devices".into())?;
    let path = format!("/sys/class/net/{device}/queues/rx-0/rps_cpus");
    Ok(fs::write(&path, mask(cpus)).during(|| format!("write to {path}"))?)
}

/// Formats a CPU mask as the kernel does: hexadecimal words of 32 bits, the most significant first.
fn mask(cpus: &CpuSet) -> String {
    let words = CpuSet::count() / 32;
    let word = |w: usize| (0..32).filter(|&bit| cpus.is_set(32 * w + bit) == Ok(true)).map(|bit| 1u32 << bit).sum();
    let all: Vec<u32> = (0..words).map(word).collect();
    let used = all.iter().rposition(|&word| word != 0).map_or(1, |last| last + 1);
    all[..used].iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_per_cpu_in_words_of_32() {
        let of = |cpus: &[usize]| {
            let mut set = CpuSet::new();
            cpus.iter().for_each(|&cpu| set.set(cpu).unwrap());
            mask(&set)
        };
        assert_eq!(of(&[0]), "00000001");
        assert_eq!(of(&[1, 4, 33]), "00000002,00000012");
    }
}
