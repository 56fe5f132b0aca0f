//! The program: the same bytes from every process, one error, a clean end at Ctrl-C.

use crate::common::dumbbell;
use fairweir_units::Dur;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn started(input: &str) -> std::process::Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fairweir-quic"))
        .arg("run")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child
}

fn run(input: &str) -> Output {
    started(input).wait_with_output().unwrap()
}

#[test]
fn repeated_processes_print_the_same_bytes() {
    for cca in ["quinn/newreno", "quinn/cubic", "quinn/bbr", "noq/newreno", "noq/cubic", "noq/bbr3"] {
        let mut config = dumbbell(&[cca, "quinn/newreno"], Dur::from_secs(3));
        config.interval = Some(Dur::from_millis(100));
        let input = serde_json::to_string(&config).unwrap();
        let outputs: Vec<Output> = (0..3).map(|_| run(&input)).collect();
        assert!(outputs[0].status.success() && outputs[0].stdout.len() > 1_000, "{:?}", outputs[0]);
        assert!(outputs.iter().all(|output| output.stdout == outputs[0].stdout), "{cca}");
    }
}

#[test]
fn an_error_is_one_line_of_json() {
    for (input, message) in [
        ("{", "the configuration: EOF while parsing an object at line 1 column 1".to_owned()),
        (
            &serde_json::to_string(&dumbbell(&["nonesuch"], Dur::from_secs(1))).unwrap(),
            "no congestion controller `nonesuch`".to_owned(),
        ),
    ] {
        let output = run(input);
        assert_eq!(output.status.code(), Some(2));
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((output.stdout.len(), error["error"]["message"].as_str()), (0, Some(message.as_str())));
    }
}

#[test]
fn an_interrupt_ends_the_program_without_a_record() {
    let config = dumbbell(&["quinn/cubic"], Dur::from_secs(3_600));
    let child = started(&serde_json::to_string(&config).unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0));
}
