//! A user's stack in a shared library (`include/fairweir_endpoint.h`).

use crate::endpoint::{Datagram, Ecn, Endpoint, Ends, Fault, Stage, State};
use crate::limits::{PayloadBytes, payload};
use fairweir_native::plugin::endpoint::{self, End, NONE, ecn, role};
use fairweir_program::Refusal;
use fairweir_scenario::{App, Config};
use fairweir_units::{Rate, Time};
use std::path::Path;

/// Returns whether `cca` is the path of such a library.
pub(crate) fn is_endpoint(cca: &str) -> bool {
    cca.ends_with(fairweir_native::plugin::SUFFIX) && endpoint::is_endpoint(Path::new(cca))
}

/// Returns both ends of flow number `flow`, whose `cca` is the path of a library.
///
/// # Errors
/// If the library contradicts the interface.
pub(crate) fn ends(config: &Config, flow: usize) -> Result<Ends, Refusal> {
    let spec = &config.flows[flow];
    let refuse = |refusal: Refusal| refusal.at(format!("flows.{flow}.cca"));
    let library = endpoint::load(Path::new(&spec.cca)).map_err(|e| refuse(Refusal::of(&e)))?;
    let PayloadBytes(size) = payload(config);
    let create = |role: u64| {
        library.create(&endpoint::Start {
            role,
            // Each end has a sequence of its own.
            seed: config.seed.wrapping_add((2 * flow as u64 + role).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            max_payload: size,
            initial_cwnd: spec.initial_cwnd * size,
            recv_window: spec.rwnd.map_or(NONE, |packets| packets.saturating_mul(size)),
            ack_every: spec.receiver.ack_every,
        })
    };
    let [sender, receiver] =
        [role::SENDER, role::RECEIVER].map(|role| create(role).map_err(|reason| refuse(Refusal::new(reason))));
    let app = App::new(spec.source.clone(), spec.start, spec.stop.unwrap_or(Time::NEVER), config.packet, size);
    let offered = Some(Offered { app, bytes: 0 });
    Ok(Ends {
        sender: Box::new(PluginEnd { end: sender?, offered, start: spec.start }),
        receiver: Box::new(PluginEnd { end: receiver?, offered: None, start: Time::NEVER }),
    })
}

/// The application of a sender, and what the library knows of its data.
struct Offered {
    app: App,
    bytes: u64,
}

/// One end.
struct PluginEnd {
    end: End,
    offered: Option<Offered>,
    /// Until the flow has started.
    start: Time,
}

fn fault(reason: String) -> Fault {
    Fault(format!("failed: {reason}"))
}

impl Endpoint for PluginEnd {
    fn receive(&mut self, now: Time, datagram: Datagram) -> Result<(), Fault> {
        let ecn = match datagram.ecn {
            Ecn::NotEct => ecn::NOT_ECT,
            Ecn::Ect => ecn::ECT,
            Ecn::Ce => ecn::CE,
        };
        self.end.receive(now.as_nanos(), &datagram.payload, ecn).map_err(fault)
    }

    fn timeout(&mut self, now: Time) -> Result<(), Fault> {
        let is_start = self.start <= now;
        if is_start {
            self.start = Time::NEVER;
        }
        if is_start || self.end.deadline(now.as_nanos()) <= now.as_nanos() {
            self.end.timeout(now.as_nanos()).map_err(fault)?;
        }
        Ok(())
    }

    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), Fault> {
        if let Some(offered) = &mut self.offered {
            let bytes = offered.app.available(now, self.end.state().sent_bytes);
            if bytes != offered.bytes {
                offered.bytes = bytes;
                self.end.offer(now.as_nanos(), bytes).map_err(fault)?;
            }
        }
        if let Some(written) = self.end.send(now.as_nanos()).map_err(fault)? {
            out.push(Datagram {
                payload: written.payload.as_slice().into(),
                ecn: if written.ecn == ecn::ECT { Ecn::Ect } else { Ecn::NotEct },
                depart_at: Time::from_nanos(written.depart_at),
            });
        }
        Ok(())
    }

    fn deadline(&mut self, now: Time) -> Time {
        let of_stack = match self.end.deadline(now.as_nanos()) {
            NONE => Time::NEVER,
            at => Time::from_nanos(at),
        };
        let of_app = match &self.offered {
            Some(_) if self.start != Time::NEVER => self.start,
            // A source with a rate provides more when what was offered is old, whether or not it was sent.
            Some(offered) => offered.app.next_change(now, offered.bytes),
            None => Time::NEVER,
        };
        of_stack.min(of_app)
    }

    fn stage(&self) -> Stage {
        let state = self.end.state();
        let is_complete = self.offered.as_ref().is_some_and(|offered| offered.app.has_finished(state.acked_bytes));
        Stage { is_established: state.established == 1, is_complete }
    }

    fn state(&self) -> State {
        let state = self.end.state();
        State {
            cwnd: state.cwnd,
            inflight: state.inflight,
            pacing_rate: (state.pacing_rate != NONE).then_some(Rate::from_bytes_per_sec(state.pacing_rate)),
            lost: state.lost,
            timeouts: state.timeouts,
            read_bytes: state.read_bytes,
        }
    }
}
