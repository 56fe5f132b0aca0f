//! Drives an algorithm in C as a [`Controller`]: fills the kernel's fields, calls the hooks in the kernel's order, and
//! reads the algorithm's decisions.
//!
//! The order is that of `tcp_ack` and `tcp_enter_loss`: ssthresh() once per episode, set_state(), pkts_acked(),
//! in_ack_event(), then cong_control() or, outside a reduction, cong_avoid(). On a timeout cwnd is set to the packets in
//! flight plus one before the state becomes Loss.
//!
//! **Deviations from Linux**: ssthresh() and set_state() are called before pkts_acked() of the ACK that starts the
//! episode, not after. In a reduction snd_cwnd equals ssthresh immediately, because the transport does proportional
//! rate reduction. snd_una and snd_nxt count bytes from zero.

use crate::abi::{
    ACK_ECE, ACK_SLOWPATH, AckSample, EVENT_COMPLETE_CWR, EVENT_CWND_RESTART, EVENT_LOSS, EVENT_TX_START, Hook,
    INFINITE_SSTHRESH, PACING_NEEDED, RateSample, RawOps, TcpSock, UNPACED,
};
use crate::module::Module;
use fairweir_cca::{
    Ack, BuildError, CaState, Cause, Context, Controller, Interests, Loss, Restart, Sender, Sent, Start, Undo,
};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde_json::Value;
use std::ffi::c_long;
use std::fmt;

/// Each host booted up to 2^46 ns (19.5 hours) before the run, so the hosts' monotonic clocks differ.
const BOOT_BITS: u32 = 46;

/// An algorithm in C on one connection.
pub(crate) struct NativeController {
    name: String,
    ops: &'static RawOps,
    enter: Option<Hook>,
    /// The connection as seen by C. It contains a pointer into `params`.
    tp: Box<TcpSock>,
    /// The parameters that `cc_params(sk)` reads; boxed, so that their address does not change.
    _params: Box<[u64]>,
    mss: u64,
    /// Time between the host's boot and the run, ns.
    uptime_ns: u64,
}

// SAFETY: the only pointers lead to code, to constants and to the controller's own boxes; C stores none of these
// pointers.
unsafe impl Send for NativeController {}

impl fmt::Debug for NativeController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeController").field("name", &self.name).field("tp", &self.tp).finish_non_exhaustive()
    }
}

/// Converts a duration to microseconds, as in the kernel's 32-bit fields.
fn micros(d: Dur) -> u32 {
    u32::try_from(d.as_micros()).unwrap_or(u32::MAX)
}

impl NativeController {
    /// Creates the state of a new connection.
    ///
    /// # Errors
    /// If the algorithm rejects `params`.
    pub(crate) fn new(module: &Module, params: &Value, start: &Start) -> Result<NativeController, BuildError> {
        let params = module.read_params(params)?;
        let mut tp = TcpSock::zeroed();
        tp.icsk.sk.cc_param_values = params.as_ptr();
        tp.icsk.sk.cc_rand_state = start.seed;
        tp.icsk.sk.cc_oracle_us = start.oracle_rtprop.map_or(0, |d| micros(d).max(1));
        tp.icsk.sk.sk_pacing_rate = UNPACED;
        tp.icsk.sk.sk_max_pacing_rate = UNPACED;
        tp.snd_cwnd = u32::try_from(start.initial_cwnd.packets(start.mss)).unwrap_or(u32::MAX).max(1);
        tp.snd_cwnd_clamp = u32::MAX;
        tp.snd_ssthresh = INFINITE_SSTHRESH;
        tp.mss_cache = u32::try_from(start.mss.0).unwrap_or(u32::MAX);
        tp.rtt_min.s[0][1] = u32::MAX;
        tp.snd_una = start.first_packet.wrapping_mul(start.mss.0) as u32;
        (tp.snd_nxt, tp.write_seq) = (tp.snd_una, tp.snd_una);
        tp.delivered = start.first_packet as u32;
        tp.reordering = 3;
        // Any function that spreads the seed's bits is sufficient, because each flow has its own seed.
        let uptime_ns = start.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BOOT_BITS);
        let mut controller = NativeController {
            name: module.name.clone(),
            ops: module.ops,
            enter: module.enter,
            tp,
            _params: params,
            mss: start.mss.0,
            uptime_ns,
        };
        controller.set_clock(Time::ZERO);
        controller.initialise();
        Ok(controller)
    }

    fn initialise(&mut self) {
        if let Some(init) = self.ops.init {
            // SAFETY: for every hook here: C that was compiled against bpf/tcp.h receives the connection type against
            // which it was compiled, and nothing else accesses the connection during the call.
            unsafe { init(&mut *self.tp) }
        }
    }

    #[inline]
    fn set_clock(&mut self, now: Time) {
        let local = self.uptime_ns + now.as_nanos();
        self.tp.icsk.sk.cc_wall = now.as_nanos();
        self.tp.icsk.sk.cc_now = local;
        self.tp.tcp_clock_cache = local;
        self.tp.tcp_wstamp_ns = local;
        self.tp.tcp_mstamp = local / 1_000;
        if let Some(enter) = self.enter {
            // SAFETY: see `initialise`.
            unsafe { enter(&mut *self.tp) }
        }
    }

    /// Copies the transport's state to the kernel's fields.
    #[inline]
    fn fill(&mut self, sender: &Sender, now: Time) {
        self.set_clock(now);
        let tp = &mut *self.tp;
        tp.snd_una = sender.snd_una.wrapping_mul(self.mss) as u32;
        tp.snd_nxt = sender.snd_nxt.wrapping_mul(self.mss) as u32;
        tp.write_seq = tp.snd_nxt;
        tp.srtt_us = micros(sender.srtt * 8);
        tp.mdev_us = micros(sender.rttvar * 4);
        tp.rttvar_us = tp.mdev_us;
        tp.rtt_min.s[0][1] = micros(sender.min_rtt);
        tp.packets_out = sender.packets_out() as u32;
        tp.sacked_out = sender.sacked_out as u32;
        tp.lost_out = sender.lost_out as u32;
        tp.retrans_out = sender.retrans_out as u32;
        tp.delivered = sender.delivered as u32;
        tp.delivered_ce = sender.delivered_ce as u32;
        tp.lost = sender.lost as u32;
        tp.is_cwnd_limited = u8::from(sender.is_cwnd_limited);
    }

    /// `tcp_set_ca_state`: the hook is called before the field changes.
    fn set_state(&mut self, state: CaState) {
        if self.tp.icsk.icsk_ca_state == state as u8 {
            return;
        }
        if let Some(set_state) = self.ops.set_state {
            // SAFETY: see `initialise`.
            unsafe { set_state(&mut *self.tp, state as u8) }
        }
        self.tp.icsk.icsk_ca_state = state as u8;
    }

    fn event(&mut self, event: std::ffi::c_int) {
        if let Some(cwnd_event) = self.ops.cwnd_event {
            // SAFETY: see `initialise`.
            unsafe { cwnd_event(&mut *self.tp, event) }
        }
    }

    /// Removes the packet that is being sent from the counters: the kernel reports the start of a transmission
    /// (`tcp_event_data_sent`) before it counts the packet (`tcp_event_new_data_sent`).
    fn uncount(&mut self, sent: &Sent<'_>) {
        let tp = &mut *self.tp;
        if sent.is_retransmit {
            tp.retrans_out = tp.retrans_out.saturating_sub(1);
        } else {
            tp.snd_nxt = sent.seq.wrapping_mul(self.mss) as u32;
            tp.packets_out = tp.packets_out.saturating_sub(1);
        }
    }

    fn ask_ssthresh(&mut self) {
        self.tp.prior_cwnd = self.tp.snd_cwnd;
        self.tp.prior_ssthresh = self.tp.snd_ssthresh;
        if let Some(ssthresh) = self.ops.ssthresh {
            // SAFETY: see `initialise`.
            self.tp.snd_ssthresh = unsafe { ssthresh(&mut *self.tp) };
        }
    }

    #[inline]
    fn pkts_acked(&mut self, ack: &Ack<'_>) {
        let Some(pkts_acked) = self.ops.pkts_acked else { return };
        let since_sent = ack.sender.delivered - ack.rate.prior_delivered.min(ack.sender.delivered);
        let sample = AckSample {
            pkts_acked: ack.cum_acked as u32,
            rtt_us: ack.rtt.map_or(-1, |rtt| micros(rtt).clamp(1, i32::MAX as u32) as i32),
            in_flight: since_sent.wrapping_mul(self.mss) as u32,
        };
        // SAFETY: see `initialise`.
        unsafe { pkts_acked(&mut *self.tp, &sample) }
    }

    #[inline]
    fn rate_sample(&self, ack: &Ack<'_>) -> RateSample {
        let rate = &ack.rate;
        let is_valid = rate.interval > Dur::ZERO;
        RateSample {
            prior_mstamp: (self.uptime_ns + ack.newest_sent.as_nanos()) / 1_000,
            prior_delivered: rate.prior_delivered as u32,
            prior_delivered_ce: 0,
            delivered: if is_valid { rate.delivered as i32 } else { -1 },
            delivered_ce: ack.marked as i32,
            interval_us: if is_valid { rate.interval.as_micros().max(1) as c_long } else { -1 },
            snd_interval_us: 0,
            rcv_interval_us: 0,
            rtt_us: ack.rtt.map_or(-1, |rtt| rtt.as_micros().max(1) as c_long),
            losses: ack.lost as i32,
            acked_sacked: ack.acked as u32,
            prior_in_flight: ack.prior_inflight as u32,
            last_end_seq: ack.newest.map_or(0, |seq| (seq + 1).wrapping_mul(self.mss) as u32),
            is_app_limited: rate.is_app_limited,
            is_retrans: ack.rtt.is_none(),
            is_ack_delayed: false,
        }
    }

    /// `tcp_update_pacing_rate`, for algorithms that request pacing and leave the rate to the kernel: 2 windows per RTT
    /// in slow start, 1.2 windows per RTT in congestion avoidance.
    fn update_pacing_rate(&mut self, srtt: Dur) {
        if self.tp.icsk.sk.sk_pacing_status != PACING_NEEDED || srtt == Dur::ZERO {
            return;
        }
        let percent = if self.tp.snd_cwnd < self.tp.snd_ssthresh / 2 { 200 } else { 120 };
        let window = Bytes(u64::from(self.tp.snd_cwnd) * self.mss);
        self.tp.icsk.sk.sk_pacing_rate = (window / srtt).mul_ratio(percent, 100).bytes_per_sec();
    }
}

impl Controller for NativeController {
    /// `tcp_init_transfer`: the kernel initialises the algorithm when the connection is established, with its first RTT.
    fn on_established(&mut self, sender: &Sender, cx: &mut Context<'_>) {
        if let Some(release) = self.ops.release {
            // SAFETY: see `initialise`.
            unsafe { release(&mut *self.tp) }
        }
        self.tp.icsk.icsk_ca_priv.fill(0);
        self.fill(sender, cx.now);
        self.initialise();
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.fill(ack.sender, cx.now);
        let packets_out = self.tp.packets_out.wrapping_add(ack.cum_acked as u32);
        self.tp.max_packets_out = packets_out;
        self.tp.app_limited = u32::from(ack.rate.is_app_limited);
        self.set_state(ack.sender.ca_state);
        self.pkts_acked(ack);
        if let Some(in_ack_event) = self.ops.in_ack_event {
            let slow = if ack.sender.ca_state == CaState::Open { 0 } else { ACK_SLOWPATH };
            let ece = if ack.marked > 0 { ACK_ECE } else { 0 };
            // SAFETY: see `initialise`.
            unsafe { in_ack_event(&mut *self.tp, slow | ece) }
        }
        let una = self.tp.snd_una;
        if let Some(cong_control) = self.ops.cong_control {
            let sample = self.rate_sample(ack);
            // SAFETY: see `initialise`.
            unsafe { cong_control(&mut *self.tp, una, 0, &sample) }
            return;
        }
        if let Some(cong_avoid) = self.ops.cong_avoid.filter(|_| ack.may_raise_cwnd()) {
            // SAFETY: see `initialise`.
            unsafe { cong_avoid(&mut *self.tp, una, ack.acked as u32) }
        }
        self.update_pacing_rate(ack.sender.srtt);
    }

    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>) {
        self.fill(loss.sender, cx.now);
        if loss.cause != Cause::Timeout {
            self.tp.high_seq = self.tp.snd_nxt;
            self.ask_ssthresh();
            if self.ops.cong_control.is_none() {
                self.tp.snd_cwnd = self.tp.snd_ssthresh;
            }
            self.set_state(loss.sender.ca_state);
            return;
        }
        // tcp_enter_loss: a timeout within an episode causes no further reduction, on ideal hosts either.
        let is_reducing = [CaState::Cwr as u8, CaState::Recovery as u8].contains(&self.tp.icsk.icsk_ca_state);
        let is_over = self.tp.snd_una.wrapping_sub(self.tp.high_seq) as i32 >= 0;
        if !loss.is_repeated && (!is_reducing || is_over) {
            self.ask_ssthresh();
            self.event(EVENT_LOSS);
        }
        self.tp.high_seq = self.tp.snd_nxt;
        self.tp.snd_cwnd = loss.sender.inflight() as u32 + 1;
        self.tp.snd_cwnd_cnt = 0;
        self.set_state(CaState::Loss);
    }

    fn on_recovered(&mut self, sender: &Sender, cx: &mut Context<'_>) {
        self.fill(sender, cx.now);
        let was_reducing = [CaState::Cwr as u8, CaState::Recovery as u8].contains(&self.tp.icsk.icsk_ca_state);
        if was_reducing && self.ops.cong_control.is_none() {
            if self.tp.snd_ssthresh < INFINITE_SSTHRESH {
                self.tp.snd_cwnd = self.tp.snd_ssthresh;
            }
            self.event(EVENT_COMPLETE_CWR);
        }
        self.set_state(sender.ca_state);
    }

    /// `tcp_cwnd_restart`
    fn on_restart(&mut self, restart: &Restart<'_>, cx: &mut Context<'_>) {
        self.fill(restart.sender, cx.now);
        self.event(EVENT_CWND_RESTART);
        let min_ssthresh = Restart::min_ssthresh(self.tp.snd_cwnd.into());
        self.tp.snd_ssthresh = self.tp.snd_ssthresh.max(min_ssthresh as u32);
        self.tp.snd_cwnd = ((restart.cwnd.0 / self.mss) as u32).max(1);
    }

    /// `tcp_undo_cwnd_reduction`
    fn on_undo(&mut self, undo: &Undo<'_>, cx: &mut Context<'_>) {
        self.fill(undo.sender, cx.now);
        if let Some(undo_cwnd) = self.ops.undo_cwnd {
            // SAFETY: see `initialise`.
            self.tp.snd_cwnd = unsafe { undo_cwnd(&mut *self.tp) };
        }
        let ssthresh = (undo.ssthresh.0 / self.mss).min(INFINITE_SSTHRESH.into());
        self.tp.snd_ssthresh = self.tp.snd_ssthresh.max(ssthresh as u32);
        self.set_state(undo.sender.ca_state);
    }

    #[inline]
    fn on_send(&mut self, sent: &Sent<'_>, cx: &mut Context<'_>) {
        if sent.sender.inflight() <= 1 {
            self.fill(sent.sender, cx.now);
            self.uncount(sent);
            self.event(EVENT_TX_START);
        }
        self.tp.lsndtime = (self.tp.tcp_mstamp / 1_000) as u32;
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(u64::from(self.tp.snd_cwnd) * self.mss)
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.tp.icsk.sk.sk_pacing_rate;
        (rate != UNPACED).then_some(Rate::from_bytes_per_sec(rate))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(match self.tp.snd_ssthresh {
            INFINITE_SSTHRESH.. => Bytes::MAX,
            ssthresh => Bytes(u64::from(ssthresh) * self.mss),
        })
    }

    fn interests(&self) -> Interests {
        Interests {
            sent: self.ops.cwnd_event.is_some(),
            rate_sample: self.ops.cong_control.is_some(),
            own_recovery: self.ops.cong_control.is_some(),
            ..Interests::default()
        }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("ssthresh_pkts", f64::from(self.tp.snd_ssthresh));
    }
}

impl Drop for NativeController {
    fn drop(&mut self) {
        if let Some(release) = self.ops.release {
            // SAFETY: see `initialise`.
            unsafe { release(&mut *self.tp) }
        }
    }
}
