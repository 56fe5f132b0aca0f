//! Capture of libbpf's messages, and the version of the running kernel.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static MESSAGES: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Callback for libbpf's messages, which arrive on the thread that calls libbpf. Messages are collected during
/// [`listening`] and discarded otherwise.
fn keep(_: PrintLevel, message: String) {
    MESSAGES.with_borrow_mut(|messages| {
        if let Some(kept) = messages {
            kept.push_str(&message);
        }
    });
}

/// Runs `call`; returns its result and libbpf's messages.
pub fn listening<T>(call: impl FnOnce() -> T) -> (T, String) {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        set_print(Some((PrintLevel::Info, keep)));
    });
    MESSAGES.set(Some(String::new()));
    let outcome = call();
    (outcome, MESSAGES.take().unwrap_or_default())
}

/// Returns the lines of a verifier's log that contain the reason: the last lines before its statistics.
pub fn gist(log: &str) -> String {
    const SHOWN: usize = 12;
    let telling: Vec<&str> = log
        .lines()
        .map(|line| line.trim_start_matches("libbpf: "))
        .filter(|line| {
            !line.is_empty()
                && !line.starts_with("processed ")
                && !line.contains("-- BEGIN")
                && !line.contains("-- END")
        })
        .collect();
    telling[telling.len().saturating_sub(SHOWN)..].join("\n")
}

/// Returns the running kernel's version, as (major, minor).
pub fn kernel_version() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gist_of_a_log_is_its_end() {
        let log = (0..40).map(|i| format!("libbpf: line {i}\n")).collect::<String>()
            + "no write support to tcp_sock at off 1420\nprocessed 20 insns\nprog 'x': -- END PROG LOAD LOG --\n";
        let gist = gist(&log);
        assert!(gist.ends_with("line 39\nno write support to tcp_sock at off 1420"), "{gist}");
        assert_eq!(gist.lines().count(), 12);
    }

    #[test]
    fn messages_are_those_of_the_call() {
        let (answer, said) = listening(|| {
            keep(PrintLevel::Warn, "libbpf: one\n".to_owned());
            2
        });
        assert_eq!((answer, said.as_str()), (2, "libbpf: one\n"));
        keep(PrintLevel::Warn, "no listener".to_owned());
        assert_eq!(listening(|| ()).1, "");
    }

    #[test]
    fn this_kernel_has_a_version() {
        assert!(kernel_version() >= (4, 0));
    }
}
