//! Compiles C to BPF with clang. The headers of `bpf/` and of libbpf are embedded in this crate.

use crate::error::KernelError;
use crate::layout::ObjectLayout;
use crate::source::Source;
use fairweir_native::{HEADERS, Includes};
use libbpf_rs::libbpf_sys::API_HEADERS;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A source compiled for the kernel.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub(crate) source: Source,
    pub(crate) object: Vec<u8>,
    pub(crate) layout: ObjectLayout,
    pub(crate) is_recording: bool,
}

impl Compiled {
    /// The source from which it was compiled.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl Source {
    /// Compiles the source for the kernel, with `-DCC_RECORD` if calls of its hooks are to be recorded.
    ///
    /// # Errors
    /// If clang is missing or rejects the source, or the object does not contain the controller.
    pub fn compile(&self, record: bool) -> Result<Compiled, KernelError> {
        let object = object_of(&self.file, &self.text, record)?;
        let wrong = |reason: String, hint| KernelError::Source { path: self.file.clone(), reason, hint };
        let layout = ObjectLayout::of(&object, &self.cca)
            .map_err(|reason| wrong(reason, "write `SEC(\".struct_ops\") struct tcp_congestion_ops mine = {...};`"))?;
        if record && !layout.can_record() {
            return Err(wrong(
                "the hooks of this source cannot be recorded".to_owned(),
                "write them with bpf/tcp.h's BPF_PROG",
            ));
        }
        Ok(Compiled { source: self.clone(), object, layout, is_recording: record })
    }
}

/// Returns the object file that clang compiles from `text`; `file` is the name that messages show.
pub(crate) fn object_of(file: &Path, text: &str, record: bool) -> Result<Vec<u8>, KernelError> {
    let io = |e: io::Error| KernelError::io("the build directory (TMPDIR)")(e);
    let scratch = fairweir_native::scratch().map_err(io)?;
    let include = scratch.path().join("include");
    write_headers(&include).map_err(io)?;
    // A user's source may include headers from its own directory, so compile it there.
    let input = if file.is_file() { file.to_owned() } else { scratch.path().join(file) };
    if !file.is_file() {
        fs::write(&input, text).map_err(io)?;
    }
    let output = scratch.path().join("cca.o");
    let clang = env::var_os("CLANG").filter(|c| !c.is_empty()).unwrap_or_else(|| "clang".into());
    let not_started = |e: io::Error| match e.kind() {
        ErrorKind::NotFound => KernelError::Missing {
            what: format!("compiler for BPF not found: `{}`", clang.display()),
            hint: "install it (`apt-get install clang`), 14 or later, or name one in the environment variable CLANG",
        },
        _ => KernelError::io(clang.display().to_string())(e),
    };
    let refused = |reason: String, hint| KernelError::Source { path: file.to_owned(), reason, hint };
    let mut reading: Vec<OsString> = ["-target", "bpf", "-mcpu=v3"].map(OsString::from).to_vec();
    reading.extend(record.then(|| "-DCC_RECORD".into()));
    reading.extend(["-I".into(), include.clone().into(), "-I".into(), include.join("compat").into()]);
    reading.extend(["-x".into(), "c".into(), input.clone().into()]);
    let includes = Includes::of(&input, &include);
    if let Some(file) = includes.refused(&clang, &reading).map_err(not_started)? {
        let reason = format!("it includes `{file}`, which is neither in the folder of the source nor a system header");
        return Err(refused(reason, "put included files into the folder of the source"));
    }
    let run = Command::new(&clang)
        .args(["-O2", "-g", "-fno-color-diagnostics", "-Wno-unknown-attributes", "-c"])
        .args(&reading)
        .arg("-o")
        .arg(&output)
        .output()
        .map_err(not_started)?;
    if !run.status.success() {
        let reason = format!("clang rejects it:\n{}", includes.shown(&String::from_utf8_lossy(&run.stderr)));
        return Err(refused(reason, "include \"tcp.h\": it declares the kernel functions that a CCA may use"));
    }
    fs::read(&output).map_err(io)
}

/// Writes the headers of `bpf/`, and those of libbpf as `bpf/...`. From `compat/`, only headers that libbpf does not
/// provide are written: libbpf's real headers take precedence.
fn write_headers(include: &Path) -> io::Result<()> {
    let ours = HEADERS.iter().filter(|(name, _)| !name.starts_with("compat/bpf/")).copied();
    let libbpf = API_HEADERS.iter().map(|(name, text)| (format!("bpf/{name}"), *text));
    let all: Vec<(PathBuf, &str)> =
        ours.map(|(name, text)| (name.into(), text)).chain(libbpf.map(|(name, text)| (name.into(), text))).collect();
    for (name, text) in all {
        let header = include.join(name);
        fs::create_dir_all(header.parent().unwrap_or(include))?;
        fs::write(header, text)?;
    }
    Ok(())
}
