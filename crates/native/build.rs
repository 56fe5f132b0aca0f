//! Compiles `bpf/*.bpf.c` for the host and writes the list of the algorithms found there.
//!
//! A file needs no registration: each `struct tcp_congestion_ops` in its `.struct_ops` section is an algorithm, named
//! after the variable. The file's header comment has a line ` * name: summary` for each algorithm.

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The section in which `SEC(".struct_ops")` places ops.
const OPS_SECTION: &str = ".struct_ops";
/// The section in which `CC_PARAMS` places parameter tables.
const PARAMS_SECTION: &str = "cc_params";
/// `sizeof(struct cc_param)`.
const PARAM_ROW_BYTES: u64 = 48;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let bpf = manifest.join("../../bpf").canonicalize().expect("bpf/ is next to crates/");
    println!("cargo:rerun-if-changed={}", bpf.display());
    println!("cargo:rerun-if-changed=src/layout.c");

    let sources = sources_in(&bpf);
    let objects = compiler(&bpf).files(&sources).compile_intermediates();
    let layout = compiler(&bpf).file("src/layout.c").compile_intermediates();
    compiler(&bpf).objects(&objects).objects(&layout).compile("fairweir_bpf");

    let mut list = List::default();
    for (source, object) in sources.iter().zip(&objects) {
        list.add_file(source, object);
    }
    fs::write(out.join("bpf.rs"), list.render(&bpf)).expect("OUT_DIR is writable");
}

/// Returns a compiler with the semantics of the kernel's flags: signed overflow wraps, and pointers of different types
/// may alias.
fn compiler(bpf: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .include(bpf)
        .std("gnu11")
        .opt_level(2)
        .flag("-fno-strict-aliasing")
        .flag("-fwrapv")
        .flag("-Wno-unused-parameter")
        .warnings(true)
        .extra_warnings(true);
    build
}

/// Returns the paths `bpf/*.bpf.c`, sorted. BPF programs that are not congestion controllers are in other directories.
fn sources_in(bpf: &Path) -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> = fs::read_dir(bpf)
        .expect("bpf/ is readable")
        .map(|entry| entry.expect("bpf/ is readable").path())
        .filter(|path| path.to_string_lossy().ends_with(".bpf.c"))
        .collect();
    sources.sort();
    sources
}

/// The algorithms found so far.
#[derive(Default)]
struct List {
    externs: String,
    modules: String,
    rows: String,
    sources: String,
}

impl List {
    fn add_file(&mut self, source: &Path, object: &Path) {
        let text = fs::read_to_string(source).expect("a source is UTF-8");
        let bytes = fs::read(object).expect("cc wrote it");
        let file = object::File::parse(&*bytes).expect("an object file");
        let in_section = |name: &str| -> Vec<(String, u64)> {
            file.symbols()
                .filter(|s| s.kind() == SymbolKind::Data && s.is_global())
                .filter(|s| {
                    s.section_index()
                        .and_then(|i| file.section_by_index(i).ok())
                        .is_some_and(|sec| sec.name() == Ok(name))
                })
                .map(|s| (s.name().expect("a symbol has a name").to_owned(), s.size()))
                .collect()
        };
        let params = in_section(PARAMS_SECTION);
        assert!(params.len() <= 1, "{}: more than one parameter table", source.display());
        let table = params.first().map_or("&[]".to_owned(), |(symbol, bytes)| {
            assert_eq!(bytes % PARAM_ROW_BYTES, 0, "{symbol}: rows are {PARAM_ROW_BYTES} bytes");
            let rows = bytes / PARAM_ROW_BYTES;
            writeln!(self.externs, "    static {symbol}: [RawParam; {rows}];").expect("a string grows");
            format!("unsafe {{ &{symbol} }}")
        });
        let mut ops = in_section(OPS_SECTION);
        ops.sort();
        assert!(!ops.is_empty(), "{}: no struct tcp_congestion_ops in {OPS_SECTION}", source.display());
        for (name, _) in ops {
            let summary = summary_of(&name, &text)
                .unwrap_or_else(|| panic!("{}: the header has no line ` * {name}: ...`", source.display()));
            let module = name.to_uppercase();
            let file = source.file_name().and_then(|f| f.to_str()).expect("a source's name is UTF-8");
            writeln!(
                self.sources,
                "    Builtin {{ name: \"{name}\", file: {file:?}, text: include_str!({:?}), module: &{module} }},",
                source.display().to_string()
            )
            .expect("a string grows");
            writeln!(self.externs, "    static {name}: RawOps;").expect("a string grows");
            writeln!(
                self.modules,
                "static {module}: LazyLock<Module> =\n    \
                 LazyLock::new(|| Module::builtin(\"{name}\", unsafe {{ &{name} }}, {table}));"
            )
            .expect("a string grows");
            writeln!(
                self.rows,
                "    Algorithm {{\n        name: \"{name}\",\n        summary: {summary:?},\n        version: None,\n        \
                 defaults: || {module}.defaults(),\n        build: |params, start| build(&{module}, params, start),\n    }},"
            )
            .expect("a string grows");
        }
    }

    fn render(&self, bpf: &Path) -> String {
        let mut headers = Vec::new();
        collect_headers(bpf, &mut headers);
        headers.sort();
        let mut embedded = String::new();
        for header in headers {
            let name = header.strip_prefix(bpf).expect("it was found there").display().to_string();
            writeln!(embedded, "    ({name:?}, include_str!({:?})),", header.display().to_string())
                .expect("a string grows");
        }
        format!(
            "unsafe extern \"C\" {{\n{}}}\n\n{}\n\
             /// Algorithms written in kernel C, from `bpf/*.bpf.c`.\n\
             pub static ALGORITHMS: &[Algorithm] = &[\n{}];\n\n\
             /// The headers of `bpf/`, by name, for users' sources.\n\
             pub static HEADERS: &[(&str, &str)] = &[\n{embedded}];\n\n\
             pub(super) static BUILTIN: &[Builtin] = &[\n{}];\n",
            self.externs, self.modules, self.rows, self.sources
        )
    }
}

/// Collects every `*.h` below `directory`.
fn collect_headers(directory: &Path, headers: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("bpf/ is readable") {
        let path = entry.expect("bpf/ is readable").path();
        if path.is_dir() {
            collect_headers(&path, headers);
        } else if path.extension().is_some_and(|e| e == "h") {
            headers.push(path);
        }
    }
}

/// Returns the text after ` * name: ` in the header comment.
fn summary_of(name: &str, text: &str) -> Option<String> {
    let prefix = format!(" * {name}: ");
    text.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned)
}
