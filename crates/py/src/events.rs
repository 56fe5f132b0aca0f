//! The events of `fairweir_cca` as Python objects. For each flow and kind, one object is reused for all events.

use fairweir_cca as cca;
use fairweir_units::Dur;
use pyo3::prelude::*;

/// Returns milliseconds, or None if there is no sample.
fn ms(d: Option<Dur>) -> Option<f64> {
    d.map(Dur::as_millis_f64)
}

/// Information for a controller when its flow starts.
#[pyclass(frozen, module = "fairweir")]
#[derive(Debug)]
pub struct Start(pub cca::Start);

#[pymethods]
impl Start {
    #[getter]
    fn mss_bytes(&self) -> u64 {
        self.0.mss.0
    }
    #[getter]
    fn initial_cwnd_bytes(&self) -> u64 {
        self.0.initial_cwnd.0
    }
    #[getter]
    fn oracle_rtprop_ms(&self) -> Option<f64> {
        ms(self.0.oracle_rtprop)
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }
}

/// Declares an event class: its own fields, then the fields common to all events (time and the transport's state).
macro_rules! event {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }
     $(|$this:ident| { $($getter:ident: $result:ty => $value:expr),* $(,)? })?) => {
        $(#[$doc])*
        #[pyclass(module = "fairweir")]
        #[derive(Debug)]
        pub struct $name {
            pub now_ns: u64,
            pub sender: cca::Sender,
            $(pub $field: $type,)*
        }

        #[pymethods]
        impl $name {
            $($(#[getter] fn $getter(&self) -> $result { let $this = self; $value })*)?
            #[getter]
            fn now_ns(&self) -> u64 { self.now_ns }
            #[getter]
            fn now_ms(&self) -> f64 { self.now_ns as f64 / 1e6 }
            #[getter]
            fn mss_bytes(&self) -> u64 { self.sender.mss.0 }
            #[getter]
            fn snd_una(&self) -> u64 { self.sender.snd_una }
            #[getter]
            fn snd_nxt(&self) -> u64 { self.sender.snd_nxt }
            #[getter]
            fn inflight(&self) -> u64 { self.sender.inflight() }
            #[getter]
            fn delivered(&self) -> u64 { self.sender.delivered }
            #[getter]
            fn total_lost(&self) -> u64 { self.sender.lost }
            #[getter]
            fn srtt_ms(&self) -> Option<f64> { ms((self.sender.srtt > Dur::ZERO).then_some(self.sender.srtt)) }
            #[getter]
            fn min_rtt_ms(&self) -> Option<f64> {
                ms((self.sender.min_rtt < Dur::MAX).then_some(self.sender.min_rtt))
            }
            #[getter]
            fn is_cwnd_limited(&self) -> bool { self.sender.is_cwnd_limited }
            #[getter]
            fn in_recovery(&self) -> bool {
                matches!(self.sender.ca_state, cca::CaState::Recovery | cca::CaState::Loss)
            }
        }
    };
}

event! {
    /// An ACK arrived. Counts are packets.
    Ack {
        acked: u64, cum_acked: u64, lost: u64, marked: u64, prior_inflight: u64,
        rtt: Option<Dur>, newest: Option<u64>, rate: cca::RateSample,
    }
    |this| {
        acked: u64 => this.acked,
        cum_acked: u64 => this.cum_acked,
        lost: u64 => this.lost,
        marked: u64 => this.marked,
        prior_inflight: u64 => this.prior_inflight,
        newest: Option<u64> => this.newest,
        rtt_ms: Option<f64> => ms(this.rtt),
        delivery_rate_mbps: Option<f64> => this.rate.delivery_rate(this.sender.mss).map(|r| r.as_mbps_f64()),
        prior_delivered: u64 => this.rate.prior_delivered,
        is_app_limited: bool => this.rate.is_app_limited,
    }
}

event! {
    /// A loss episode starts.
    Loss { cause: cca::Cause, prior_inflight: u64, is_repeated: bool }
    |this| {
        cause: &'static str => match this.cause {
            cca::Cause::Dupack => "dupack",
            cca::Cause::Ecn => "ecn",
            cca::Cause::Timeout => "timeout",
            cca::Cause::PersistentCongestion => "persistent_congestion",
        },
        prior_inflight: u64 => this.prior_inflight,
        is_repeated: bool => this.is_repeated,
    }
}

event! {
    /// A packet was sent.
    Sent { seq: u64, is_retransmit: bool }
    |this| {
        seq: u64 => this.seq,
        is_retransmit: bool => this.is_retransmit,
    }
}

/// A packet was declared lost.
#[pyclass(module = "fairweir", get_all)]
#[derive(Debug, Default)]
pub struct LostPacket {
    pub now_ns: u64,
    pub seq: u64,
    pub sent_ns: u64,
}

/// A packet was delivered.
#[pyclass(module = "fairweir", get_all)]
#[derive(Debug, Default)]
pub struct AckedPacket {
    pub now_ns: u64,
    pub seq: u64,
    pub sent_ns: u64,
    pub was_retransmitted: bool,
    pub is_app_limited: bool,
}

impl Ack {
    /// Creates an empty object, which `fill` overwrites.
    pub fn empty(sender: &cca::Sender) -> Ack {
        Ack {
            now_ns: 0,
            sender: sender.clone(),
            acked: 0,
            cum_acked: 0,
            lost: 0,
            marked: 0,
            prior_inflight: 0,
            rtt: None,
            newest: None,
            rate: cca::RateSample::default(),
        }
    }

    /// Copies the fields of `ack`.
    pub fn fill(&mut self, ack: &cca::Ack<'_>, now_ns: u64) {
        self.now_ns = now_ns;
        self.sender.clone_from(ack.sender);
        self.acked = ack.acked;
        self.cum_acked = ack.cum_acked;
        self.lost = ack.lost;
        self.marked = ack.marked;
        self.prior_inflight = ack.prior_inflight;
        self.rtt = ack.rtt;
        self.newest = ack.newest;
        self.rate = ack.rate;
    }
}
