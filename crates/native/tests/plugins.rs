//! Plug-ins: a library that follows `include/fairweir_cc.h` is driven as any controller; any other library is an error.

use fairweir_cca::testing::{MSS, ack};
use fairweir_cca::{Ack, BuildError, CaState, Cause, Context, Controller, Loss, Sender, Start};
use fairweir_native::{plugin, registry};
use fairweir_units::{Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SKELETON: &str = include_str!("../../../python/fairweir/ccas/skeletons/plugin.c.in");

fn start() -> Start {
    Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 7 }
}

/// A plug-in compiled from C.
struct Library {
    path: PathBuf,
    _folder: TempDir,
}

impl Library {
    fn of(source: &str) -> Library {
        Library::linked(source, &["-shared"])
    }

    fn linked(source: &str, flags: &[&str]) -> Library {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, path) = (folder.path().join("mine.c"), folder.path().join("mine.so"));
        fs::write(&file, source).expect("the folder is writable");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(compiler);
        command.args(["-std=c99", "-O1", "-fPIC"]).args(flags).arg("-I").arg(include).arg(&file).arg("-o").arg(&path);
        assert!(command.status().expect("a C compiler").success());
        Library { path, _folder: folder }
    }

    /// Compiles the skeleton of `fairweir new plugin`, with the text `old` replaced by `new`.
    fn with(old: &str, new: &str) -> Library {
        assert!(SKELETON.contains(old), "{old}");
        Library::of(&SKELETON.replace(old, new))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn refusal(&self) -> (String, String) {
        match registry::build(&self.name(), &Value::Null, &start()) {
            Err(BuildError::BadSource { reason, hint, .. }) => (reason, hint),
            Err(BuildError::BadParams { reason, .. }) => (reason, String::new()),
            other => panic!("{other:?}"),
        }
    }
}

/// A connection whose events the test generates.
struct Hand {
    cc: Box<dyn Controller>,
    sender: Sender,
    rng: ChaCha8Rng,
}

impl Hand {
    fn of(library: &Library, params: &Value) -> Hand {
        let cc = registry::build(&library.name(), params, &start()).expect("it is built");
        let mut sender = Sender::new(MSS);
        sender.is_cwnd_limited = true;
        Hand { cc, sender, rng: ChaCha8Rng::seed_from_u64(1) }
    }

    fn ack(&mut self, packets: u64) {
        let event = Ack { acked: packets, ..ack(&self.sender, Dur::from_millis(20)) };
        self.cc.on_ack(&event, &mut Context { now: Time::from_nanos(1), rng: &mut self.rng });
    }

    fn lose(&mut self) {
        self.sender.ca_state = CaState::Recovery;
        let event = Loss { cause: Cause::Dupack, prior_inflight: 10, is_repeated: false, sender: &self.sender };
        self.cc.on_loss(&event, &mut Context { now: Time::from_nanos(2), rng: &mut self.rng });
    }
}

#[test]
fn the_skeleton_behaves_as_its_formulas_say() {
    let library = Library::of(SKELETON);
    let mut flow = Hand::of(&library, &json!({"beta": 0.7}));
    assert_eq!(flow.cc.cwnd(), MSS * 10);
    assert_eq!(flow.cc.pacing_rate(), None);
    flow.ack(10);
    assert_eq!(flow.cc.cwnd(), MSS * 20, "slow start doubles cwnd in a round trip");
    flow.lose();
    assert_eq!(flow.cc.cwnd(), MSS * 14, "a loss reduces cwnd by beta");
    let mut telemetry = Vec::new();
    flow.cc.telemetry(&mut |name, value| telemetry.push((name, value)));
    assert_eq!(telemetry, [("ssthresh_bytes", (MSS * 14).0 as f64)]);
}

#[test]
fn name_version_and_parameters_are_the_tables() {
    let library = Library::of(SKELETON);
    let loaded = plugin::load(&library.path).expect("it loads");
    assert_eq!((loaded.name(), loaded.version()), ("@name@", "0.1.0"));
    assert_eq!(loaded.defaults(), json!({"beta": 0.5, "min_cwnd_packets": 2}));
    let refusal = |params| registry::build(&library.name(), &params, &start()).expect_err("refused").to_string();
    assert!(refusal(json!({"bta": 1})).contains("unknown field `bta`, expected one of `beta`"));
    assert!(refusal(json!({"beta": 0.95})).contains("`beta` must be from 0.1 to 0.9: 0.95"));
    assert!(refusal(json!({"min_cwnd_packets": 0.5})).contains("is a whole number"));
}

#[test]
fn a_table_that_contradicts_the_interface_is_rejected_with_its_fault() {
    for (old, new, expected) in [
        (".abi = FW_CC_ABI", ".abi = 7", "version 7 of the interface"),
        (".size = sizeof(struct fw_cc)", ".size = 8", "its table has 8 bytes"),
        (".create = create,", "", "create is NULL"),
        (".decide = decide,", "", "decide is NULL"),
        (".on_ack = on_ack,", ".on_ack = on_ack, .wants = FW_CC_WANTS_SENT,", "on_sent is NULL"),
        (".on_ack = on_ack,", ".on_ack = on_ack, .wants = 1u << 20,", "wants has unknown bits: 0x100000"),
        (".name = \"@name@\"", ".name = 0", "name is NULL"),
        (".version = \"0.1.0\"", ".version = \"\\xff\"", "version is not UTF-8"),
        (".param_count = sizeof(PARAMS) / sizeof(PARAMS[0])", ".param_count = 1ull << 40", "are not an array"),
        (".params = PARAMS", ".params = (void *)3", "are not an array"),
        ("0.5, 0.1, 0.9", "5, 0.1, 0.9", "not min <= def <= max: 0.1, 5, 0.9"),
        ("0.5, 0.1, 0.9", "0.0/0.0, 0.1, 0.9", "not min <= def <= max"),
        ("FW_CC_NUMBER, 0.5", "77, 0.5", "unknown unit 77"),
        ("FW_CC_INTEGER, 2, 1,", "FW_CC_INTEGER, 2, -1,", "its minimum is negative"),
        ("\"min_cwnd_packets\"", "\"beta\"", "two parameters are named `beta`"),
        ("return &table;", "return (void *)&table == (void *)1 ? &table : 0;", "returns no table"),
        ("flow->cwnd = start->initial_cwnd;", "flow->cwnd = 0;", "cwnd is 0"),
        ("flow->cwnd = start->initial_cwnd;", "flow->cwnd = 1ull << 50;", "cwnd is larger than 1 TiB"),
        ("decision->pacing_rate = 0;", "decision->pacing_rate = UINT64_MAX;", "pacing_rate is above 1 Pbit/s"),
        ("if (!flow)\n\t\treturn NULL;", "return NULL;", "create returns NULL"),
    ] {
        let (reason, _) = Library::with(old, new).refusal();
        assert!(reason.contains(expected), "{new}: {reason}");
    }
}

#[test]
fn a_file_that_is_no_plug_in_is_rejected_before_its_code_runs() {
    let other = "const void *fairweir_cc_v2(void) { return 0; }";
    assert!(Library::of(other).refusal().0.contains("exports `fairweir_cc_v2`, for another version"));
    let without = "__attribute__((constructor)) static void init(void) { __builtin_trap(); }";
    assert!(Library::of(without).refusal().0.contains("does not export `fairweir_cc_v1`"));
    assert!(Library::linked(SKELETON, &["-c"]).refusal().0.contains("not a shared library"));
    let missing = "int nowhere(void); const void *fairweir_cc_v1(void) { return (void *)(long)nowhere(); }";
    assert!(Library::of(missing).refusal().0.contains("does not load"));

    let library = Library::of(SKELETON);
    let mut bytes = fs::read(&library.path).expect("readable");
    // e_machine of the ELF header: another machine, s390.
    bytes[18..20].copy_from_slice(&22u16.to_le_bytes());
    fs::write(&library.path, &bytes).expect("writable");
    let (reason, hint) = library.refusal();
    assert!(reason.contains("built for") && hint.contains("for this machine"), "{reason}");
    for damage in [&b""[..], b"\x7fELF", &bytes[..60], b"#!/bin/sh\n"] {
        fs::write(&library.path, damage).expect("writable");
        assert!(library.refusal().0.contains("not a shared library"), "{damage:?}");
    }
    fs::remove_file(&library.path).expect("it is there");
    assert!(library.refusal().0.contains("No such file"));
}

#[test]
fn a_message_of_the_plug_in_ends_the_run() {
    let source = SKELETON
        .replace("static void decide(", "static const char *fault(const void *state)\n{\n\treturn ((const struct flow *)state)->cwnd > 15000 ? \"too fast\" : 0;\n}\n\nstatic void decide(")
        .replace(".decide = decide,", ".decide = decide, .fault = fault,");
    let library = Library::of(&source);
    let mut flow = Hand::of(&library, &Value::Null);
    assert!(flow.cc.fault().is_none());
    flow.ack(10);
    assert_eq!(flow.cc.cwnd().0, 0, "the transport asks for the fault of a controller without a window");
    assert_eq!(flow.cc.fault().expect("a fault").0, "too fast");
}
