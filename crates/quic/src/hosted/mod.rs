//! A controller of fairweir in the transport of a stack.
//!
//! [`Hosted`] takes the events of the stacks' trait `congestion::Controller` and calls a [`fairweir_cca::Controller`] with
//! its own. One ACK is one [`Controller::on_ack`], after the losses that it reveals: the call waits until the stack
//! reports something else, or reads the window.
//!
//! **What the stack does not report**: the number of marks (an ACK with marks counts as one mark), the packets lost by
//! number, and when the application stops limiting. **What it does not ask for**: a pacing rate, in quinn; bursts; and
//! proportional rate reduction, so that cwnd alone limits sending in recovery (RFC 9002 §7.3.2). Controllers with TCP's
//! recovery see persistent congestion as a timeout, and a probe timeout not at all.

mod books;

use crate::limits::payload;
use books::{Books, Numbered};
use fairweir_cca::limits::MAX_CWND;
use fairweir_cca::{
    Ack, AckedPacket, BuildError, CaState, Cause, Context, Controller, Interests, Loss, LostPacket, RateSample,
    Recovery, Sent, Start,
};
use fairweir_native::registry;
use fairweir_program::Refusal;
use fairweir_scenario::{Config, controller_seed, controller_stream};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The first error of a controller, which ends the run.
pub(crate) type Trouble = Arc<OnceLock<String>>;

/// Builds the controller of a flow, as often as the stack asks for one.
pub(crate) struct Factory {
    cca: String,
    params: serde_json::Value,
    start: Start,
    rng: ChaCha8Rng,
    trouble: Trouble,
    first: Mutex<Option<Box<dyn Controller>>>,
}

impl Factory {
    /// The controller that flow number `flow` of `config` names; `None` if there is none of that name.
    ///
    /// # Errors
    /// If it cannot be built, or requires what stacks do not report.
    pub(crate) fn of(config: &Config, flow: usize, trouble: Trouble) -> Result<Option<Factory>, Refusal> {
        let spec = &config.flows[flow];
        let mss = Bytes(payload(config).0);
        let start = Start {
            mss,
            initial_cwnd: mss * spec.initial_cwnd,
            oracle_rtprop: None,
            first_packet: 0,
            seed: controller_seed(config.seed, flow),
        };
        let built = registry::build(&spec.cca, &spec.params, &start);
        let controller = match built {
            Ok(controller) => controller,
            Err(BuildError::UnknownName(_)) => return Ok(None),
            Err(error) => {
                let key = match error {
                    BuildError::BadParams { .. } => "params",
                    _ => "cca",
                };
                return Err(Refusal::of(&error).at(format!("flows.{flow}.{key}")));
            }
        };
        let interests = controller.interests();
        if spec.ecn && (interests.own_ecn || interests.exact_marks) {
            return Err(Refusal::new(format!(
                "`{}` needs the number of marks, which the stack does not report to its controller",
                spec.cca
            ))
            .at(format!("flows.{flow}.cca"))
            .hint("run it in the simulator, or leave out `ecn`"));
        }
        Ok(Some(Factory {
            cca: spec.cca.clone(),
            params: spec.params.clone(),
            start,
            rng: controller_stream(config.seed, flow),
            trouble,
            first: Mutex::new(Some(controller)),
        }))
    }

    /// Builds a controller for a connection that starts.
    pub(crate) fn build(&self) -> Hosted {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let controller = first.map_or_else(|| registry::build(&self.cca, &self.params, &self.start), Ok);
        // The values are those with which `of` built it.
        let controller = controller.expect("a controller that was built can be built again");
        Hosted::new(controller, &self.start, self.rng.clone(), Arc::clone(&self.trouble))
    }
}

/// An ACK whose losses may still follow.
#[derive(Clone, Copy, Debug)]
struct Pending {
    now: Time,
    acked: u64,
    cum_acked: u64,
    lost: u64,
    marked: u64,
    prior_inflight: u64,
    newest: Option<Numbered>,
    rate: RateSample,
}

/// A controller, and the connection as it sees it.
#[derive(Debug)]
pub(crate) struct Hosted {
    controller: Box<dyn Controller>,
    interests: Interests,
    books: Books,
    rng: ChaCha8Rng,
    trouble: Trouble,
    /// Deliveries of the ACK that the stack is reporting.
    acked: u64,
    newest: Option<Numbered>,
    prior_inflight: Option<u64>,
    pending: Option<Pending>,
    /// The episode ends when everything below this has left flight.
    high_seq: u64,
    lost: Vec<Numbered>,
}

impl Hosted {
    fn new(controller: Box<dyn Controller>, start: &Start, rng: ChaCha8Rng, trouble: Trouble) -> Hosted {
        let mut hosted = Hosted {
            interests: controller.interests(),
            controller,
            books: Books::new(start.mss),
            rng,
            trouble,
            acked: 0,
            newest: None,
            prior_inflight: None,
            pending: None,
            high_seq: 0,
            lost: Vec::new(),
        };
        hosted.inspect();
        hosted
    }

    /// The maximum of bytes in flight.
    pub(crate) fn cwnd(&mut self) -> u64 {
        self.flush();
        // A controller that failed ends the run; until then, the stack has a window that it can work with.
        self.controller.cwnd().0.clamp(self.books.sender.mss.0, MAX_CWND.0)
    }

    /// Bytes per second, if the controller paces.
    pub(crate) fn pacing_rate(&mut self) -> Option<u64> {
        self.flush();
        self.controller.pacing_rate().map(|rate| rate.bytes_per_sec().max(1))
    }

    /// Bytes, if the controller has one.
    pub(crate) fn ssthresh(&self) -> Option<u64> {
        self.controller.ssthresh().map(|bytes| bytes.0)
    }

    /// Datagrams of `bytes` in total leave.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) {
        self.flush();
        let count = self.books.send(now, bytes);
        if self.interests.sent {
            let next = self.books.sender.snd_nxt;
            for seq in next - count..next {
                let sent = Sent { seq, is_retransmit: false, sender: &self.books.sender };
                self.controller.on_send(&sent, &mut Context { now, rng: &mut self.rng });
            }
            self.inspect();
        }
        self.books.note_window(self.controller.cwnd().0);
    }

    /// A packet of `bytes` that left at `sent` is acknowledged.
    pub(crate) fn on_packet_acked(&mut self, now: Time, sent: Time, bytes: u64, is_app_limited: bool) {
        self.flush();
        self.prior_inflight.get_or_insert(self.books.sender.inflight());
        let Some(packet) = self.books.deliver(sent, bytes) else { return };
        self.acked += 1;
        self.newest = Some(self.newest.filter(|newest| newest.seq > packet.seq).unwrap_or(packet));
        if self.interests.acked {
            let Numbered { seq, sent } = packet;
            let acked = AckedPacket { seq, sent, was_retransmitted: false, is_app_limited };
            self.controller.on_packet_acked(&acked, &mut Context { now, rng: &mut self.rng });
        }
    }

    /// The ACK is processed up to its losses; `in_flight` bytes are still in flight.
    pub(crate) fn on_end_acks(&mut self, now: Time, in_flight: u64, is_app_limited: bool) {
        self.flush();
        self.books.reconcile(in_flight);
        let (acked, newest) = (std::mem::take(&mut self.acked), self.newest.take());
        let prior_inflight = self.prior_inflight.take().unwrap_or_else(|| self.books.sender.inflight());
        let mut rate = RateSample::default();
        if let Some(newest) = newest {
            self.books.sample_rtt(now.since(newest.sent));
            if self.interests.rate_sample {
                rate = self.books.sample_rate(newest.seq, now);
            }
        }
        let cum_acked = self.books.advance();
        self.books.note_app_limited(is_app_limited);
        if self.books.sender.ca_state != CaState::Open && self.books.sender.snd_una >= self.high_seq {
            self.books.sender.ca_state = CaState::Open;
            if self.interests.recovery == Recovery::Tcp {
                self.controller.on_recovered(&self.books.sender, &mut Context { now, rng: &mut self.rng });
            }
        }
        self.pending = Some(Pending { now, acked, cum_acked, lost: 0, marked: 0, prior_inflight, newest, rate });
    }

    /// Packets of `bytes` in total are lost, the newest of which left at `sent`.
    pub(crate) fn on_lost(&mut self, now: Time, sent: Time, bytes: u64, is_persistent: bool) {
        let prior_inflight = self.books.sender.inflight();
        let mut lost = std::mem::take(&mut self.lost);
        self.books.lose(bytes, sent, &mut lost);
        if self.interests.lost {
            for &Numbered { seq, sent } in &lost {
                self.controller.on_packet_lost(&LostPacket { seq, sent }, &mut Context { now, rng: &mut self.rng });
            }
        }
        let in_episode = lost.last().is_some_and(|newest| newest.seq < self.high_seq);
        if let Some(pending) = &mut self.pending {
            pending.lost += lost.len() as u64;
        }
        lost.clear();
        self.lost = lost;
        match self.interests.recovery {
            Recovery::Quic => {
                let cause = if is_persistent { Cause::PersistentCongestion } else { Cause::Dupack };
                self.start_episode(CaState::Recovery, cause, prior_inflight, now);
            }
            Recovery::Tcp if is_persistent => {
                self.start_episode(CaState::Loss, Cause::Timeout, prior_inflight, now);
            }
            Recovery::Tcp if in_episode => {}
            Recovery::Tcp => self.start_episode(CaState::Recovery, Cause::Dupack, prior_inflight, now),
        }
        let cum_acked = self.books.advance();
        if let Some(pending) = &mut self.pending {
            pending.cum_acked += cum_acked;
        }
    }

    /// The ACK reported marks.
    pub(crate) fn on_marks(&mut self, now: Time) {
        let sender = &mut self.books.sender;
        sender.delivered_ce += 1;
        let (prior_inflight, is_open) = (sender.inflight(), sender.ca_state == CaState::Open);
        if let Some(pending) = &mut self.pending {
            pending.marked = 1;
        }
        if self.interests.recovery == Recovery::Quic || is_open {
            self.start_episode(CaState::Cwr, Cause::Ecn, prior_inflight, now);
        }
    }

    fn start_episode(&mut self, state: CaState, cause: Cause, prior_inflight: u64, now: Time) {
        let is_repeated = cause == Cause::Timeout && self.books.sender.ca_state == CaState::Loss;
        self.books.sender.ca_state = state;
        self.high_seq = self.books.sender.snd_nxt;
        let loss = Loss { cause, prior_inflight, is_repeated, sender: &self.books.sender };
        self.controller.on_loss(&loss, &mut Context { now, rng: &mut self.rng });
        self.inspect();
    }

    /// Calls [`Controller::on_ack`] for the ACK whose events are complete.
    fn flush(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let cwnd = self.controller.cwnd().0;
        self.books.sender.is_cwnd_limited = self.books.is_cwnd_limited(cwnd, self.controller.ssthresh());
        let Pending { now, acked, cum_acked, lost, marked, prior_inflight, newest, rate } = pending;
        let ack = Ack {
            acked,
            cum_acked,
            lost,
            marked,
            prior_inflight,
            rtt: newest.map(|newest| now.since(newest.sent)).filter(|&rtt| rtt > Dur::ZERO),
            newest: newest.map(|newest| newest.seq),
            newest_sent: newest.map_or(Time::ZERO, |newest| newest.sent),
            rate,
            sender: &self.books.sender,
        };
        self.controller.on_ack(&ack, &mut Context { now, rng: &mut self.rng });
        self.inspect();
    }

    /// Reports the controller's failure, or a window that no connection can have.
    fn inspect(&mut self) {
        let cwnd = self.controller.cwnd();
        if cwnd.0 == 0 || cwnd > MAX_CWND {
            let reason = self.controller.fault().map(|fault| fault.0);
            let _ = self.trouble.set(reason.unwrap_or_else(|| format!("asked for a cwnd of {} bytes", cwnd.0)));
        }
    }
}
