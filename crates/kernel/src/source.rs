//! Sources of algorithms.

use crate::error::KernelError;
use fairweir_native::{self as native, Loaded};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of a controller's name (`TCP_CA_NAME_MAX` without the terminating zero).
pub(crate) const NAME_MAX: usize = 15;

/// The source of a congestion controller for the kernel.
#[derive(Clone, Debug)]
pub struct Source {
    pub(crate) cca: String,
    /// Name of the source file, for messages.
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    /// The native build of the same text; `None` if the program can be built for the kernel but not for the host.
    native: Option<Loaded>,
}

impl Source {
    /// Returns the source of algorithm `name` in `bpf/`.
    ///
    /// # Errors
    /// [`KernelError::Unknown`] if there is no such algorithm.
    pub fn named(name: &str) -> Result<Source, KernelError> {
        let (Some((file, text)), native) = (native::source(name), native::builtin(name)) else {
            let known = native::ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
            return Err(KernelError::Unknown { name: name.to_owned(), known });
        };
        Ok(Source { cca: name.to_owned(), file: file.into(), text: text.to_owned(), native })
    }

    /// Returns a source that calls the kernel's own `cubic` or `bbr` from BPF. Its decisions are the same as the
    /// kernel's. The cost of its hooks can be measured, and cubic's calls can be recorded, as for the algorithms of
    /// `bpf/`.
    ///
    /// # Errors
    /// [`KernelError::Unknown`] for other names.
    pub fn of_kernel(name: &str) -> Result<Source, KernelError> {
        let text = match name {
            "cubic" => include_str!("../../../bpf/telemetry/cubic.bpf.c"),
            "bbr" => include_str!("../../../bpf/telemetry/bbr.bpf.c"),
            _ => return Err(KernelError::Unknown { name: name.to_owned(), known: vec!["cubic", "bbr"] }),
        };
        Ok(Source { cca: name.to_owned(), file: format!("{name}.bpf.c").into(), text: text.to_owned(), native: None })
    }

    /// Reads a user's `.bpf.c`. If the file contains several controllers, the one with the file's name is used.
    ///
    /// # Errors
    /// [`KernelError::Source`] if it cannot be read.
    pub fn file(path: &Path) -> Result<Source, KernelError> {
        let wrong = |reason: String| KernelError::Source {
            path: path.to_owned(),
            reason,
            hint: "the path of a C source that ends in .bpf.c",
        };
        let name = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(native::SUFFIX));
        let stem = name.ok_or_else(|| wrong(format!("the name does not end in `{}`", native::SUFFIX)))?;
        let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let native = native::load(path).ok();
        let cca = native.as_ref().map_or(stem, Loaded::name).to_owned();
        Ok(Source { cca, file: path.to_owned(), text, native })
    }

    /// Reads a source by its path if `name_or_path` ends in `.bpf.c`, otherwise by its name.
    ///
    /// # Errors
    /// Those of [`Source::named`] and [`Source::file`].
    pub fn find(name_or_path: &str) -> Result<Source, KernelError> {
        if name_or_path.ends_with(native::SUFFIX) {
            Source::file(Path::new(name_or_path))
        } else {
            Source::named(name_or_path)
        }
    }

    /// Returns the algorithm's name.
    pub fn cca(&self) -> &str {
        &self.cca
    }

    /// Returns the native build of the same source, if it can be built for this host.
    pub fn native(&self) -> Option<&Loaded> {
        self.native.as_ref()
    }

    /// Returns every parameter with its default, as JSON.
    pub fn defaults(&self) -> Value {
        self.native.as_ref().map_or_else(|| Value::Object(serde_json::Map::new()), Loaded::defaults)
    }

    /// Returns the numbers that the hooks read for `params`.
    pub(crate) fn param_words(&self, params: &Value) -> Result<Box<[u64]>, KernelError> {
        let refused = |reason: String| KernelError::Params { cca: self.cca.clone(), reason };
        match &self.native {
            Some(native) => native.param_words(params).map_err(|e| match e {
                fairweir_cca::BuildError::BadParams { reason, .. } => refused(reason),
                other => refused(other.to_string()),
            }),
            None if params.as_object().is_none_or(|map| map.is_empty()) && (params.is_null() || params.is_object()) => {
                Ok(Box::new([]))
            }
            None => Err(refused("only a source that also builds for this host can be given parameters".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Hint;
    use serde_json::json;

    #[test]
    fn every_algorithm_of_bpf_has_a_source() {
        for algorithm in native::ALGORITHMS {
            let source = Source::find(algorithm.name).expect("it is in bpf/");
            assert!(source.text.contains(algorithm.name) && source.native().is_some());
            assert!(algorithm.name.len() <= NAME_MAX);
        }
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        let error = Source::named("frc").unwrap_err();
        assert_eq!(error.to_string(), "there is no BPF congestion controller `frc`");
        assert!(error.hint().expect("a hint").contains("frcc"));
        assert!(Source::find("/nowhere/mine.bpf.c").unwrap_err().to_string().starts_with("/nowhere/mine.bpf.c: "));
    }

    #[test]
    fn parameters_are_checked_by_the_algorithms_own_table() {
        let source = Source::named("expo").expect("it is in bpf/");
        assert_eq!(source.param_words(&json!({"rmax": "50ms"})).expect("valid")[3], 50_000);
        let error = source.param_words(&json!({"rmax": "5h"})).unwrap_err();
        assert!(error.to_string().starts_with("parameters of `expo`: `rmax`"), "{error}");
    }
}
