//! Drives a plug-in's functions as a [`Controller`].

use super::table::Facts;
use fairweir_cca::limits::{MAX_CWND, MAX_PACING_RATE};
use fairweir_cca::{
    Ack, AckedPacket, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket, Sender, Sent, Start,
};
use fairweir_plugin::{abi, wants::interests};
use fairweir_units::{Bytes, Dur, Rate, Time};
use std::ffi::{CStr, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// One flow of a plug-in.
pub(super) struct PluginController {
    facts: Arc<Facts>,
    flow: NonNull<c_void>,
    mss: u64,
    /// The state of the connection at the last event that reported it.
    conn: abi::Conn,
    decision: abi::Decision,
    fault: Option<Fault>,
}

// SAFETY: only one thread at a time uses a flow; the interface allows another thread to use it later.
unsafe impl Send for PluginController {}

impl fmt::Debug for PluginController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginController").field("facts", &self.facts).field("decision", &self.decision).finish()
    }
}

fn or_none(value: Option<Dur>) -> u64 {
    value.map_or(abi::NONE, Dur::as_nanos)
}

impl PluginController {
    /// Creates a flow with the given parameter values.
    ///
    /// # Errors
    /// If the plug-in returns NULL, or if its first decision is invalid.
    pub(super) fn new(facts: Arc<Facts>, values: &[f64], start: &Start) -> Result<PluginController, String> {
        let mss = start.mss.0;
        let given = abi::Start {
            mss,
            initial_cwnd: start.initial_cwnd.0,
            seed: start.seed,
            oracle_rtprop: or_none(start.oracle_rtprop),
            params: values.as_ptr(),
        };
        let create = facts.table.create.ok_or("create is NULL")?;
        // SAFETY: `given` conforms to the interface. This holds for the structs of all calls below.
        let flow = unsafe { create(&given) };
        let flow = NonNull::new(flow).ok_or("create returns NULL")?;
        let conn = abi::Conn {
            now: 0,
            mss,
            first_unacked: start.first_packet,
            next_packet: start.first_packet,
            inflight: 0,
            sacked: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            srtt: 0,
            rttvar: 0,
            min_rtt: abi::NONE,
            state: 0,
            cwnd_limited: 0,
        };
        let mut controller =
            PluginController { facts, flow, mss, conn, decision: abi::Decision::default(), fault: None };
        controller.decide();
        match controller.fault.take() {
            Some(fault) => Err(fault.0),
            None => Ok(controller),
        }
    }

    #[inline]
    fn update(&mut self, sender: &Sender, now: Time) {
        let bytes = |packets: u64| packets.wrapping_mul(self.mss);
        self.conn = abi::Conn {
            now: now.as_nanos(),
            mss: self.mss,
            first_unacked: sender.snd_una,
            next_packet: sender.snd_nxt,
            inflight: bytes(sender.inflight()),
            sacked: bytes(sender.sacked_out),
            lost_out: bytes(sender.lost_out),
            retrans_out: bytes(sender.retrans_out),
            delivered: bytes(sender.delivered),
            delivered_ce: bytes(sender.delivered_ce),
            lost: bytes(sender.lost),
            srtt: sender.srtt.as_nanos(),
            rttvar: sender.rttvar.as_nanos(),
            min_rtt: if sender.min_rtt == Dur::MAX { abi::NONE } else { sender.min_rtt.as_nanos() },
            state: sender.ca_state as u32,
            cwnd_limited: u32::from(sender.is_cwnd_limited),
        };
    }

    /// Ends the run: the transport calls `fault` on a controller whose window is 0.
    #[cold]
    fn fail(&mut self, reason: String) {
        self.fault.get_or_insert(Fault(reason));
        self.decision.cwnd = 0;
    }

    /// Reads the decision, and checks it.
    #[inline]
    fn decide(&mut self) {
        if let Some(fault) = self.facts.table.fault {
            // SAFETY: see `new`.
            let text = unsafe { fault(self.flow.as_ptr()) };
            if !text.is_null() {
                // SAFETY: by the interface, the text is a C string.
                let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
                return self.fail(text);
            }
        }
        let mut decision = abi::Decision { cwnd: 0, pacing_rate: 0, ssthresh: abi::NONE };
        if let Some(decide) = self.facts.table.decide {
            // SAFETY: see `new`.
            unsafe { decide(self.flow.as_ptr(), &mut decision) }
        }
        if decision.cwnd == 0 {
            return self.fail("cwnd is 0".to_owned());
        }
        if decision.cwnd > MAX_CWND.0 {
            return self.fail(format!("cwnd is larger than 1 TiB: {} bytes", decision.cwnd));
        }
        if decision.pacing_rate > MAX_PACING_RATE.bytes_per_sec() {
            return self.fail(format!("pacing_rate is above 1 Pbit/s: {} bytes per second", decision.pacing_rate));
        }
        self.decision = abi::Decision { cwnd: decision.cwnd.max(self.mss), ..decision };
    }
}

impl Controller for PluginController {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.update(ack.sender, cx.now);
        let bytes = |packets: u64| packets.wrapping_mul(self.mss);
        let event = abi::Ack {
            acked: bytes(ack.acked),
            cum_acked: bytes(ack.cum_acked),
            lost: bytes(ack.lost),
            marked: bytes(ack.marked),
            prior_inflight: bytes(ack.prior_inflight),
            rtt: or_none(ack.rtt),
            newest_packet: ack.newest.unwrap_or(abi::NONE),
            newest_sent_at: ack.newest_sent.as_nanos(),
            rate_delivered: bytes(ack.rate.delivered),
            rate_interval: ack.rate.interval.as_nanos(),
            rate_prior_delivered: bytes(ack.rate.prior_delivered),
            rate_app_limited: u64::from(ack.rate.is_app_limited),
        };
        if let Some(on_ack) = self.facts.table.on_ack {
            // SAFETY: see `new`.
            unsafe { on_ack(self.flow.as_ptr(), &self.conn, &event) }
        }
        self.decide();
    }

    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>) {
        self.update(loss.sender, cx.now);
        let cause = match loss.cause {
            Cause::Dupack => abi::cause::LOST,
            Cause::Ecn => abi::cause::MARKED,
            Cause::Timeout => abi::cause::TIMEOUT,
            Cause::PersistentCongestion => abi::cause::PERSISTENT,
        };
        let event = abi::Congestion {
            cause,
            prior_inflight: loss.prior_inflight.wrapping_mul(self.mss),
            repeated: loss.is_repeated.into(),
        };
        if let Some(on_congestion) = self.facts.table.on_congestion {
            // SAFETY: see `new`.
            unsafe { on_congestion(self.flow.as_ptr(), &self.conn, &event) }
        }
        self.decide();
    }

    fn on_recovered(&mut self, sender: &Sender, cx: &mut Context<'_>) {
        let Some(on_recovered) = self.facts.table.on_recovered else { return };
        self.update(sender, cx.now);
        // SAFETY: see `new`.
        unsafe { on_recovered(self.flow.as_ptr(), &self.conn) }
        self.decide();
    }

    #[inline]
    fn on_send(&mut self, sent: &Sent<'_>, cx: &mut Context<'_>) {
        let Some(on_sent) = self.facts.table.on_sent else { return };
        self.update(sent.sender, cx.now);
        let event = abi::Sent { packet: sent.seq, retransmission: u64::from(sent.is_retransmit) };
        // SAFETY: see `new`.
        unsafe { on_sent(self.flow.as_ptr(), &self.conn, &event) }
        self.decide();
    }

    #[inline]
    fn on_packet_acked(&mut self, acked: &AckedPacket, cx: &mut Context<'_>) {
        let Some(on_packet_acked) = self.facts.table.on_packet_acked else { return };
        self.conn.now = cx.now.as_nanos();
        let event = abi::AckedPacket {
            packet: acked.seq,
            sent_at: acked.sent.as_nanos(),
            retransmitted: u64::from(acked.was_retransmitted),
            app_limited: u64::from(acked.is_app_limited),
        };
        // SAFETY: see `new`.
        unsafe { on_packet_acked(self.flow.as_ptr(), &self.conn, &event) }
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, cx: &mut Context<'_>) {
        let Some(on_packet_lost) = self.facts.table.on_packet_lost else { return };
        self.conn.now = cx.now.as_nanos();
        let event = abi::LostPacket { packet: lost.seq, sent_at: lost.sent.as_nanos() };
        // SAFETY: see `new`.
        unsafe { on_packet_lost(self.flow.as_ptr(), &self.conn, &event) }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.decision.cwnd)
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        (self.decision.pacing_rate != 0).then(|| Rate::from_bytes_per_sec(self.decision.pacing_rate))
    }

    #[inline]
    fn answer(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) -> Decision {
        self.on_ack(ack, cx);
        Decision { cwnd: self.cwnd(), pacing_rate: self.pacing_rate() }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        (self.decision.ssthresh != abi::NONE).then_some(Bytes(self.decision.ssthresh))
    }

    fn interests(&self) -> Interests {
        interests(self.facts.table.wants)
    }

    fn fault(&mut self) -> Option<Fault> {
        self.fault.clone()
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let names = &self.facts.telemetry_names;
        let Some(telemetry) = self.facts.table.telemetry.filter(|_| !names.is_empty()) else { return };
        let mut values = vec![f64::NAN; names.len()];
        // SAFETY: see `new`; there is room for a value for each name.
        unsafe { telemetry(self.flow.as_ptr(), values.as_mut_ptr()) }
        names.iter().zip(values).for_each(|(name, value)| emit(name, value));
    }
}

impl Drop for PluginController {
    fn drop(&mut self) {
        if let Some(destroy) = self.facts.table.destroy {
            // SAFETY: see `new`; this is the last call for the flow.
            unsafe { destroy(self.flow.as_ptr()) }
        }
    }
}
