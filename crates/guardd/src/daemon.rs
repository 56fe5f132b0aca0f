//! The guard's main loop: it processes packets as they arrive, decides every 100 ms, and maintains tables and files
//! every second.

use crate::control::ControlSocket;
use crate::device::Device;
use crate::dns_tap::DnsTap;
use crate::error::GuardError;
use crate::guard::{Guard, Turn};
use crate::history::Outcome;
use crate::log::Log;
use crate::metadata::FlowMetadata;
use crate::owners::Owners;
use crate::privileges::{self, Remaining};
use crate::scrape::{Endpoint, Exposition};
use crate::settings::Settings;
use crate::signals::{Request, Signals};
use crate::status::{Decisions, Status};
use crate::tap::Tap;
use crate::{hook, live, machine, metrics, terminal};
use fairweir_guard::policy::DECIDE_EVERY;
use fairweir_units::{Dur, During, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// Interval of maintenance and checks of the device.
const TIDY_EVERY: Dur = Dur::from_millis(1000);
/// Interval between writes of the metrics file; Prometheus reads it about every 15 s.
const METRICS_EVERY: Dur = Dur::from_millis(5000);

/// How a guard ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Whether Ctrl-C ended it, rather than its service manager.
    pub is_interrupted: bool,
    /// The status at the end.
    pub status: Status,
}

/// Runs the guard until a signal ends it.
///
/// # Errors
/// If the guard cannot start, or if the device disappears.
pub fn run(settings: &Settings) -> Result<Ending, GuardError> {
    privileges::check()?;
    let signals = Signals::block()?;
    let rules = settings.read()?;
    let device = Device::find(&settings.interface)?;
    let mut control = ControlSocket::hold(&device)?;
    let mut log = settings.log.as_deref().map(Log::open).transpose()?;
    let swept = hook::sweep(device.index);
    let tap = Tap::open(&device, settings.enforcement, settings.attachment)?;
    let (owners, why_not) = match Owners::load() {
        Ok(owners) => (Some(owners), None),
        Err(e) if rules.needs_owners() => return Err(e),
        Err(e) => (None, Some(e)),
    };
    let has_owners = owners.is_some();
    let answers = settings.dns.then(|| DnsTap::open(&device, settings.attachment)).transpose()?;
    let endpoint = settings.metrics_listen.map(Endpoint::bind).transpose()?;
    privileges::drop_all_but(if tap.is_linked() { Remaining::Nothing } else { Remaining::Filters })?;
    say(
        settings,
        if settings.dry_run {
            "dry run: windows are not modified"
        } else {
            "limits incoming flows; on exit, every flow gets its own window back"
        },
    );
    if swept > 0 {
        say(settings, "removed the filters of a guard that was killed");
    }
    if let Some(e) = why_not {
        say(settings, &format!("process lookup unavailable: {e}"));
    }
    let known = FlowMetadata::new(rules.names.clone(), answers, owners);
    let mut guard = Guard::new(tap, known, &device.name, &rules, settings.dry_run)?;
    let exposition = endpoint.map(|endpoint| {
        let exposition = Exposition::new(metrics::render(&status(&guard, Decisions::default())));
        endpoint.serve(exposition.clone());
        exposition
    });
    let mut screen = Screen::new(settings.live);
    let (mut log_file, mut metrics_file) = (BestEffortFile::proven(), BestEffortFile::default());
    let [mut decides, mut tidies, mut exports] =
        [DECIDE_EVERY, TIDY_EVERY, METRICS_EVERY].map(|every| Rhythm::starting(machine::now(), every));
    let mut rehearsal = Rehearsal::default();
    loop {
        wait(decides.at, &mut guard, &control, &signals)?;
        guard.renew()?;
        guard.observe()?;
        control.answer(machine::now(), |question| answer(&guard, decides.counts, question));
        match signals.next() {
            None => {}
            Some(Request::Reload) => match settings.read() {
                Ok(rules) if rules.needs_owners() && !has_owners => {
                    say(
                        settings,
                        "policies not reloaded: the new ones match processes, and process lookup is unavailable",
                    );
                }
                read => match read.and_then(|rules| guard.reload(rules)) {
                    Ok(()) => say(settings, "policies reloaded"),
                    // The previous policies stay in force.
                    Err(e) => say(settings, &format!("policies not reloaded: {e}")),
                },
            },
            Some(request) => {
                let is_interrupted = request == Request::Interrupt;
                let status = status(&guard, decides.counts);
                guard.release_all()?;
                let (present, flows) = guard.present();
                let ends: Vec<Value> = present.iter().map(|outcome| end(outcome, settings.dry_run)).collect();
                if let Some(log) = log.as_mut().filter(|_| !ends.is_empty()) {
                    log_file.heed(settings, ends.iter().try_for_each(|event| log.write(event)))?;
                }
                rehearsal.close(settings, &present, flows);
                settings.metrics.as_deref().map(metrics::remove).transpose()?;
                say(settings, "has ended");
                return Ok(Ending { is_interrupted, status });
            }
        }
        let now = machine::now();
        if decides.is_due(now) {
            let turns = guard.decide()?;
            let over = guard.take_over();
            let ends = over.iter().map(|outcome| end(outcome, settings.dry_run));
            let events: Vec<Value> = turns.iter().map(|turn| event(turn, settings.dry_run)).chain(ends).collect();
            if let Some(log) = log.as_mut().filter(|_| !events.is_empty()) {
                log_file.heed(settings, events.iter().try_for_each(|event| log.write(event)))?;
            }
            rehearsal.tell(settings, &over);
        }
        if tidies.is_due(now) {
            guard.tidy();
            screen.show(&guard);
            if !device.is_there() {
                return Err(GuardError::refused(
                    format!("interface `{}` was removed", device.name),
                    "restart the guard when it is back; the systemd unit does so automatically",
                ));
            }
        }
        let has_readers = settings.metrics.is_some() || exposition.is_some();
        if has_readers && exports.is_due(now) {
            let text = metrics::render(&status(&guard, decides.counts));
            if let Some(path) = &settings.metrics {
                metrics_file.heed(settings, metrics::write(path, &text))?;
            }
            exposition.iter().for_each(|exposition| exposition.publish(text.clone()));
        }
    }
}

/// A periodic action. A period that is missed completely is skipped; its action is not repeated later.
#[derive(Debug)]
struct Rhythm {
    every: Dur,
    at: Time,
    counts: Decisions,
}

impl Rhythm {
    fn starting(at: Time, every: Dur) -> Rhythm {
        Rhythm { every, at, counts: Decisions::default() }
    }

    /// Returns whether the action is due; if so, schedules the next one.
    fn is_due(&mut self, now: Time) -> bool {
        if now < self.at {
            return false;
        }
        let missed = now.since(self.at).as_nanos() / self.every.as_nanos();
        self.counts.missed += missed;
        self.counts.made += 1;
        self.at += self.every * (missed + 1);
        true
    }
}

/// Sleeps until the loop has work: at the time `until`, at the end of a sender's wait, or when a signal, a request or
/// packets arrive.
fn wait(until: Time, guard: &mut Guard, control: &ControlSocket, signals: &Signals) -> Result<(), GuardError> {
    let until = guard.renews_at().map_or(until, |renews| renews.min(until));
    let left = if control.is_waiting() { Dur::ZERO } else { until.since(machine::now()) };
    let programs = guard.tap().programs();
    let own = [signals.as_fd(), programs.filling(), programs.waits()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let mut sources: Vec<PollFd<'_>> = own.into_iter().chain(control.sources()).collect();
    match ppoll(&mut sources, Some(Duration::from_nanos(left.as_nanos()).into()), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(e) => Ok(Err(e).during(|| "wait for packets".into())?),
    }
}

fn status(guard: &Guard, decisions: Decisions) -> Status {
    Status { decisions, ..guard.status() }
}

fn answer(guard: &Guard, decisions: Decisions, question: &str) -> String {
    match question.split_once(' ') {
        None if question == "status" => json!(status(guard, decisions)).to_string(),
        Some(("explain", part)) => json!(guard.explain(part)).to_string(),
        _ => json!({ "error": format!("unknown request: {question}") }).to_string(),
    }
}

fn event(turn: &Turn, dry_run: bool) -> Value {
    json!({
        "unix_s": machine::unix_seconds(),
        "remote": turn.flow.remote().to_string(),
        "local": turn.flow.local().to_string(),
        "vlan": turn.flow.scope(),
        "event": if turn.decision.window.is_some() { "hold" } else { "release" },
        "window_bytes": turn.decision.window.map(fairweir_guard::WindowTarget::room),
        "target_mbps": turn.decision.rate_mbps,
        "why": turn.decision.why.to_string(),
        "dry_run": dry_run,
    })
}

fn end(outcome: &Outcome, dry_run: bool) -> Value {
    json!({
        "unix_s": machine::unix_seconds(),
        "remote": outcome.flow.remote().to_string(),
        "local": outcome.flow.local().to_string(),
        "vlan": outcome.flow.scope(),
        "event": "end",
        "window_bytes": outcome.decision.window.map(fairweir_guard::WindowTarget::room),
        "target_mbps": outcome.decision.rate_mbps,
        "measured_mbps": outcome.measured_mbps,
        "age_s": outcome.age.as_secs_f64(),
        "why": outcome.decision.why.to_string(),
        "dry_run": dry_run,
    })
}

/// Number of flows that a dry run would have held.
#[derive(Debug, Default)]
struct Rehearsal {
    held: usize,
}

/// Maximum lines printed at once, so that many short flows do not flood a terminal.
const MAX_LINES: usize = 20;

impl Rehearsal {
    fn tell(&mut self, settings: &Settings, over: &[Outcome]) {
        if !settings.dry_run {
            return;
        }
        self.held += over.len();
        over.iter().take(MAX_LINES).for_each(|outcome| say(settings, &outcome.to_string()));
        let hidden = over.len().saturating_sub(MAX_LINES);
        if hidden > 0 {
            say(settings, &format!("would have held {hidden} more flows that ended just now; --log FILE has all"));
        }
    }

    fn close(&mut self, settings: &Settings, present: &[Outcome], flows: usize) {
        if settings.dry_run {
            self.tell(settings, present);
            let left_alone = flows - present.len();
            let held = self.held;
            say(
                settings,
                &format!("would have held {held} flow(s), and now leaves {left_alone} alone; no window was changed"),
            );
        }
    }
}

/// Prints a line to stderr.
fn say(settings: &Settings, text: &str) {
    // A write error is ignored: the reader may be gone.
    let line = format!("guard of {}: {text}", settings.interface);
    let _ = writeln!(std::io::stderr(), "{}", terminal::escape(&line, &[]));
}

/// Error handling of a best-effort output file. A failure before the first success is an error; a later failure, such
/// as a full disk, is reported once per outage.
#[derive(Default)]
struct BestEffortFile {
    has_worked: bool,
    is_logged: bool,
}

impl BestEffortFile {
    /// The state after a successful write.
    fn proven() -> BestEffortFile {
        BestEffortFile { has_worked: true, is_logged: false }
    }

    fn heed(&mut self, settings: &Settings, outcome: Result<(), GuardError>) -> Result<(), GuardError> {
        match outcome {
            Ok(()) => *self = BestEffortFile::proven(),
            Err(e) if !self.has_worked => return Err(e),
            Err(e) => {
                if !self.is_logged {
                    say(settings, &format!("continues without this file: {e}"));
                }
                self.is_logged = true;
            }
        }
        Ok(())
    }
}

/// The status table on a terminal; each table overwrites the previous one.
struct Screen {
    is_on: bool,
}

impl Screen {
    fn new(is_wanted: bool) -> Screen {
        Screen { is_on: is_wanted && std::io::stderr().is_terminal() }
    }

    fn show(&mut self, guard: &Guard) {
        if self.is_on {
            /// Moves the cursor to the top left corner and clears the screen.
            const CLEAR: &str = "\x1b[H\x1b[J";
            let Ok(status) = terminal::escape_all(&guard.status()) else { return };
            let _ = write!(std::io::stderr(), "{CLEAR}{}", live::table(&status));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_late_by_a_period_is_skipped_and_the_rhythm_stays() {
        let at = |ms| Time::ZERO + Dur::from_millis(ms);
        let mut rhythm = Rhythm::starting(at(0), Dur::from_millis(100));
        let due: Vec<u64> =
            [0, 50, 120, 199, 205, 530, 599, 600].into_iter().filter(|&ms| rhythm.is_due(at(ms))).collect();
        assert_eq!(due, [0, 120, 205, 530, 600]);
        assert_eq!(rhythm.counts, Decisions { made: 5, missed: 2 });
    }
}
