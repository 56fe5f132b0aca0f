//! Stacks that misbehave: each gets one error, and nothing hangs.

use crate::common::{dumbbell, played};
use bytes::BytesMut;
use fairweir_quic::{Datagram, Ecn, Endpoint, Ends, Fault, Stage, State, stacks};
use fairweir_units::{Dur, Time};

/// The behaviour of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vice {
    /// Nothing at all.
    Silent,
    /// Sends a datagram of this many bytes every millisecond, which is not a QUIC packet.
    Garbage(usize),
    /// Asks for a timeout that has passed.
    PastTimeout,
    /// Sends without end.
    Endless,
    /// Is woken every nanosecond and does nothing.
    Restless,
    /// Fails.
    Broken,
}

struct Hostile {
    vice: Vice,
    next: Time,
}

impl Endpoint for Hostile {
    fn receive(&mut self, _now: Time, _datagram: Datagram) -> Result<(), Fault> {
        Ok(())
    }

    fn timeout(&mut self, now: Time) -> Result<(), Fault> {
        match self.vice {
            Vice::Broken => Err(Fault("failed: out of cheese".into())),
            _ => {
                self.next = self.next.max(now);
                Ok(())
            }
        }
    }

    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), Fault> {
        let bytes = match self.vice {
            Vice::Garbage(bytes) if self.next <= now => bytes,
            Vice::Endless => 100,
            _ => return Ok(()),
        };
        self.next = now + Dur::from_millis(1);
        out.push(Datagram { payload: BytesMut::zeroed(bytes), ecn: Ecn::NotEct, depart_at: Time::ZERO });
        Ok(())
    }

    fn deadline(&mut self, now: Time) -> Time {
        match self.vice {
            Vice::Silent => Time::NEVER,
            Vice::PastTimeout => Time::ZERO,
            Vice::Restless => now + Dur::from_nanos(1),
            Vice::Garbage(_) | Vice::Endless | Vice::Broken => self.next,
        }
    }

    fn stage(&self) -> Stage {
        Stage::default()
    }

    fn state(&self) -> State {
        State::default()
    }
}

/// The error of a run in which the sender has `vice`, and the receiver is quinn.
fn refused(vice: Vice) -> String {
    let config = dumbbell(&["quinn/cubic"], Dur::from_secs(2));
    let mut ends = stacks::ends(&config).unwrap();
    let receiver = ends.remove(0).receiver;
    let sender = Box::new(Hostile { vice, next: Time::ZERO });
    played(&config, vec![Ends { sender, receiver }]).unwrap_err().to_string()
}

#[test]
fn a_stack_that_never_sends() {
    assert_eq!(refused(Vice::Silent), "flow `quinn/cubic`: `quinn/cubic` never sent a datagram");
}

#[test]
fn a_stack_that_sends_garbage() {
    let reason = "flow `quinn/cubic`: `quinn/cubic` never completed its handshake, though no datagram was lost";
    for bytes in [0, 1, 20, 1_200, 1_472] {
        assert_eq!(refused(Vice::Garbage(bytes)), reason, "{bytes}");
    }
}

#[test]
fn a_stack_that_sends_too_large_datagrams() {
    let error = refused(Vice::Garbage(1_473));
    assert!(
        error.ends_with("sent a datagram of 1501 B with its headers: the scenario's packets have 1500 B"),
        "{error}"
    );
}

#[test]
fn a_stack_that_asks_for_timeouts_in_the_past() {
    let error = refused(Vice::PastTimeout);
    assert!(error.ends_with("asks for a timeout at 0ns again and again, which has passed"), "{error}");
}

#[test]
fn a_stack_that_sends_without_end() {
    let error = refused(Vice::Endless);
    assert!(error.ends_with("the sender sent more than 10000 datagrams at one instant"), "{error}");
}

#[test]
fn a_stack_that_wakes_its_host_for_nothing() {
    let error = refused(Vice::Restless);
    assert!(error.ends_with("was woken 1000000 times in a row and did nothing"), "{error}");
}

#[test]
fn a_stack_that_fails() {
    let error = refused(Vice::Broken);
    assert_eq!(error, "flow `quinn/cubic`: `quinn/cubic` at 0ns: the sender failed: out of cheese");
}

#[test]
fn a_receiver_that_never_answers() {
    let config = dumbbell(&["quinn/cubic"], Dur::from_secs(2));
    let mut ends = stacks::ends(&config).unwrap();
    let sender = ends.remove(0).sender;
    let receiver = Box::new(Hostile { vice: Vice::Silent, next: Time::ZERO });
    let error = played(&config, vec![Ends { sender, receiver }]).unwrap_err().to_string();
    assert!(error.ends_with("never completed its handshake, though no datagram was lost"), "{error}");
}
