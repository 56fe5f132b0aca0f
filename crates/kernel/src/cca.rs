//! A congestion controller that is registered in the kernel while the value exists.

use crate::compile::Compiled;
use crate::cost::{self, Cost};
use crate::error::KernelError;
use crate::libbpf;
use crate::records::Records;
use crate::source::{NAME_MAX, Source};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenMapMut, OpenObject};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

/// Flag `BPF_F_LINK` (since Linux 6.4): a link holds the struct_ops map, and the map is released with the link's last
/// descriptor.
const BY_LINK: u32 = 1 << 13;
/// Flag `TCP_CONG_NON_RESTRICTED`: any user may select the controller, and it may become a network namespace's default.
const NON_RESTRICTED: u32 = 1;
/// Maximum attempts to find an unused name.
const NAME_ATTEMPTS: u32 = 8;

/// A congestion controller that is registered in the running kernel, for all network namespaces.
///
/// The controller is unregistered when the value is dropped, or when the process ends for any reason (exception: `kill
/// -9` on Linux before 6.4). Connections that use the controller continue to use it until they close.
#[derive(Debug)]
pub struct Cca {
    // Declared before the object, because the link refers to the object and must be dropped first.
    pub(crate) link: Link,
    pub(crate) object: Object,
    name: String,
    compiled: Compiled,
}

impl Cca {
    /// Loads and registers `compiled` under an unused name. `defaults` (an object, or null) applies to flows for which
    /// no parameters are set.
    ///
    /// # Errors
    /// If the parameters are invalid, or the kernel rejects the program.
    pub fn load(compiled: &Compiled, defaults: &Value) -> Result<Cca, KernelError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match Cca::load_as(compiled, &unique_name(&compiled.source.cca), defaults) {
                Err(KernelError::Conflict { .. }) if attempt < NAME_ATTEMPTS => {}
                outcome => return outcome,
            }
        }
    }

    /// Loads and registers `compiled` as `name`.
    ///
    /// # Errors
    /// Those of [`Cca::load`], and [`KernelError::Conflict`] if a controller of that name exists or the name is
    /// invalid.
    pub fn load_as(compiled: &Compiled, name: &str, defaults: &Value) -> Result<Cca, KernelError> {
        let conflict =
            |reason: &str, hint| KernelError::Conflict { name: name.to_owned(), reason: reason.to_owned(), hint };
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_valid) {
            return Err(conflict("not a valid name for the kernel", "at most 15 letters, digits, `_` and `.`"));
        }
        if is_available(name) {
            return Err(conflict("a congestion controller of this name is already registered", "choose another name"));
        }
        let words = compiled.source.param_words(defaults)?;
        let (outcome, said) = libbpf::listening(|| register(compiled, name, &words));
        let (link, object) = outcome.map_err(|e| KernelError::Refused {
            cca: compiled.source.cca.clone(),
            reason: if said.is_empty() { e } else { format!("{e}\n{}", libbpf::gist(&said)) },
            hint: hint_for(&said),
        })?;
        Ok(Cca { link, object, name: name.to_owned(), compiled: compiled.clone() })
    }

    /// Returns the name for `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source from which the controller was compiled.
    pub fn source(&self) -> &Source {
        &self.compiled.source
    }

    /// Sets the parameters of the socket `fd` (an object, or null for the algorithm's defaults).
    ///
    /// Algorithms may read parameters only when a connection starts, so set them before the socket connects. Accepted
    /// sockets inherit the parameters of their listener.
    ///
    /// # Errors
    /// If the algorithm rejects the parameters, or `fd` is not a TCP socket.
    pub fn set_params(&self, fd: BorrowedFd<'_>, params: &Value) -> Result<(), KernelError> {
        let words = self.compiled.source.param_words(params)?;
        let Some(map) = self.compiled.layout.of_flow.as_ref().and_then(|name| self.map(name)) else { return Ok(()) };
        let what = || format!("parameters of a flow of `{}`", self.compiled.source.cca);
        map.update(&fd.as_raw_fd().to_ne_bytes(), &bytes_of(&words), MapFlags::ANY).map_err(KernelError::bpf(what()))
    }

    /// Reads the records of the controller's hooks. Each call of [`Records::drain`] passes the available records to
    /// `sink`, in the order of the hooks' calls.
    ///
    /// # Errors
    /// If the controller was compiled without recording.
    pub fn records(&self, sink: impl FnMut(&[u8]) + Send + 'static) -> Result<Records, KernelError> {
        let ring =
            self.map("cc_records").filter(|_| self.compiled.is_recording).ok_or_else(|| KernelError::Missing {
                what: format!("`{}` was not compiled to record its hooks", self.name),
                hint: "Source::compile(true)",
            })?;
        Records::of(&ring, sink)
    }

    /// Returns the number of records lost since the controller was loaded, because the reader was too slow.
    pub fn lost_records(&self) -> u64 {
        self.counter(self.compiled.layout.lost.clone())
    }

    /// Returns how often the controller found that the kernel had skipped a call of `ssthresh`, whose result was then
    /// undefined (docs/kernel-world.md).
    pub fn skipped_calls(&self) -> u64 {
        self.counter(self.compiled.layout.skipped.clone())
    }

    /// Returns the counter at `place` of the controller's variables; 0 if the controller does not have it.
    fn counter(&self, place: Option<Range<usize>>) -> u64 {
        let count = || {
            let variables =
                self.object.maps().find(|m| ends_with(m.name(), ".bss"))?.lookup(&[0; 4], MapFlags::ANY).ok()??;
            variables.get(place?)?.try_into().ok().map(u64::from_ne_bytes)
        };
        count().unwrap_or(0)
    }

    /// Returns the cost of each hook, accumulated while a value of [`cost::measure`] existed.
    ///
    /// # Errors
    /// If the kernel's statistics cannot be read.
    pub fn cost(&self) -> Result<BTreeMap<String, Cost>, KernelError> {
        let programs: BTreeMap<String, Cost> = self
            .object
            .progs()
            .filter(|program| program.autoload())
            .map(|program| Ok((program.name().to_string_lossy().into_owned(), cost::of(program.as_fd())?)))
            .collect::<Result<_, KernelError>>()?;
        let hooks = &self.compiled.layout.hooks;
        Ok(hooks.iter().filter_map(|(hook, program)| Some((hook.name().to_owned(), *programs.get(program)?))).collect())
    }

    /// Pins the controller's link and the map of its defaults in `directory`, so that the controller outlives this
    /// process.
    pub(crate) fn pin(mut self, directory: &Path) -> Result<(), KernelError> {
        let what = || directory.display().to_string();
        if !has_links() {
            return Err(KernelError::Missing {
                what: "loading a controller permanently needs Linux 6.4 or later".to_owned(),
                hint: "`bpftool struct_ops register` does it on older kernels",
            });
        }
        fs::create_dir_all(directory).map_err(KernelError::io(what()))?;
        if let Some(mut defaults) = self.object.maps_mut().find(|m| ends_with(m.name(), ".data")) {
            defaults.pin(directory.join("defaults")).map_err(KernelError::bpf(what()))?;
        }
        self.link.pin(directory.join("link")).map_err(KernelError::bpf(what()))
    }

    fn map(&self, name: &str) -> Option<libbpf_rs::Map<'_>> {
        self.object.maps().find(|map| map.name() == name)
    }
}

/// Returns whether the kernel supports registration by a link.
fn has_links() -> bool {
    libbpf::kernel_version() >= (6, 4)
}

/// Returns whether a congestion controller of that name exists.
pub(crate) fn is_available(name: &str) -> bool {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .is_ok_and(|names| names.split_whitespace().any(|n| n == name))
}

/// Returns a name such as `frcc_3f8a20`, whose random suffix prevents conflicts between concurrent runs.
fn unique_name(cca: &str) -> String {
    // `RandomState` has a different random seed for each value.
    let suffix = RandomState::new().hash_one(std::process::id()) & 0xff_ffff;
    let stem: String = cca.chars().take(NAME_MAX - 7).collect();
    format!("{stem}_{suffix:06x}")
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn ends_with(name: &OsStr, suffix: &str) -> bool {
    name.as_encoded_bytes().ends_with(suffix.as_bytes())
}

fn register(compiled: &Compiled, name: &str, defaults: &[u64]) -> Result<(Link, Object), String> {
    let mut object =
        ObjectBuilder::default().name("fairweir").and_then(|b| b.open_memory(&compiled.object)).map_err(text)?;
    prepare(&mut object, compiled, name, defaults)?;
    let mut object = object.load().map_err(text)?;
    let ops = OsStr::new(&compiled.layout.ops);
    let link =
        object.maps_mut().find(|m| m.name() == ops).ok_or("its ops are gone")?.attach_struct_ops().map_err(text)?;
    Ok((link, object))
}

fn text(e: libbpf_rs::Error) -> String {
    format!("{e:#}")
}

/// Sets names, parameters and attachments of an object that is open but not yet loaded.
fn prepare(object: &mut OpenObject, compiled: &Compiled, name: &str, defaults: &[u64]) -> Result<(), String> {
    let layout = &compiled.layout;
    let kinds = if compiled.is_recording { layout.kinds()? } else { Vec::new() };
    for mut map in object.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        if layout.other_ops.contains(&map_name) {
            map.set_autocreate(false).map_err(text)?;
        } else if map_name == layout.ops {
            // The flag of the source is overridden, because older kernels do not support links.
            let flags = if has_links() { map.map_flags() | BY_LINK } else { map.map_flags() & !BY_LINK };
            map.set_map_flags(flags).map_err(text)?;
            let mut field = [0; NAME_MAX + 1];
            field[..name.len()].copy_from_slice(name.as_bytes());
            patch(&mut map, layout.name.clone(), &field)?;
            if let Some(flags) = layout.flags.clone() {
                let given = map
                    .initial_value()
                    .and_then(|v| v.get(flags.clone())?.try_into().ok())
                    .map_or(0, u32::from_ne_bytes);
                patch(&mut map, flags, &(given | NON_RESTRICTED).to_ne_bytes())?;
            }
        } else if map_name.ends_with(".data") {
            if let Some(range) = layout.defaults.clone() {
                patch(&mut map, range, &bytes_of(defaults))?;
            }
        } else if map_name.ends_with(".rodata") {
            for (range, kind) in &kinds {
                patch(&mut map, range.clone(), &kind.to_ne_bytes())?;
            }
        }
    }
    Ok(())
}

fn patch(map: &mut OpenMapMut<'_>, range: std::ops::Range<usize>, bytes: &[u8]) -> Result<(), String> {
    let place = map.initial_value_mut().and_then(|value| value.get_mut(range)).filter(|p| p.len() == bytes.len());
    place.ok_or("the compiled object is not laid out as its symbols say")?.copy_from_slice(bytes);
    Ok(())
}

fn hint_for(said: &str) -> Option<&'static str> {
    if said.contains("EPERM") || said.contains("Operation not permitted") {
        Some("loading programs needs root (CAP_BPF and CAP_NET_ADMIN)")
    } else if said.contains("no write support") {
        Some(
            "a CCA may write snd_cwnd, snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, app_limited, sk_pacing_rate and \
              sk_pacing_status, and its own state",
        )
    } else if said.contains("kernel BTF") || said.contains("vmlinux") {
        Some("the kernel must have type information: CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_names_fit_and_differ() {
        let names: Vec<String> = (0..4).map(|_| unique_name("exponential_with_a_long_name")).collect();
        assert!(names.iter().all(|name| name.len() == NAME_MAX && name.starts_with("exponent_")), "{names:?}");
        assert!(names.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
