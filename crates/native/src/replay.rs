//! Replays the records of an algorithm's kernel build (`bpf/record.h`) in the native build of the same source, and
//! compares their decisions hook by hook.
//!
//! Before each hook the connection's fields are set to the values that the kernel's program read. From init on, the
//! algorithm's private state is that of the native build. A difference in a decision or in the state is therefore
//! detected at the hook that caused it.
//!
//! Linux calls hooks before init, because a SYN is acknowledged before the connection is established. It also calls
//! hooks after it has cleared the private state of a connection that is reset. These calls are counted but not
//! compared; the private state after them is taken from the record of init.

mod format;
#[cfg(test)]
mod tests;

pub use format::{Address, Hook};

use crate::abi::{AckSample, RateSample, TcpSock};
use crate::load::Loaded;
use format::{Decision, Params, Record, Socket, View};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A difference between the two builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The flow, by the number that the recorder assigned.
    pub flow: u32,
    /// Sequence number of the record in its flow.
    pub seq: u64,
    /// The hook that was called.
    pub hook: Hook,
    /// The differing field of the socket, word of the private state, or return value of the hook.
    pub field: String,
    /// The field's value in the kernel.
    pub kernel: u64,
    /// The field's value in the native build.
    pub native: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { flow, seq, hook, field, kernel, native } = self;
        write!(f, "flow {flow}, record {seq}, {hook}: {field} is {kernel} in the kernel, {native} natively")
    }
}

/// Counts of compared records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Flows with records.
    pub flows: u64,
    /// Hook calls with equal outcomes in both builds.
    pub hooks: u64,
    /// Hook calls with equal outcomes that process an ACK (cong_control or cong_avoid).
    pub acks: u64,
    /// Records that were lost before the comparison. A flow's comparison ends at its first lost record.
    pub lost: u64,
    /// Calls before init or after the end of the connection, which are not compared.
    pub outside: u64,
    /// Records that were not compared, because earlier records of the flow were lost or differ.
    pub skipped: u64,
}

/// A malformed record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a record of a hook: {0}")]
pub struct Malformed(String);

/// Compares a stream of records with the native build. The native build's C runs in this process, so a trap in it ends
/// the process.
#[derive(Debug)]
pub struct Replay {
    native: Loaded,
    flows: BTreeMap<u32, Flow>,
    tally: Tally,
    difference: Option<Difference>,
}

#[derive(Debug)]
struct Flow {
    tp: Box<TcpSock>,
    params: Box<[u64]>,
    next_seq: u64,
    /// Whether the state equals the kernel's: no record was lost, and no record differed.
    is_whole: bool,
    has_started: bool,
}

// SAFETY: the only pointer is to the flow's own parameters, and is set before each hook.
unsafe impl Send for Flow {}

impl Replay {
    /// Creates a comparison with `native`, without records.
    pub fn new(native: Loaded) -> Replay {
        Replay { native, flows: BTreeMap::new(), tally: Tally::default(), difference: None }
    }

    /// Returns the counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the first difference, if any.
    pub fn difference(&self) -> Option<&Difference> {
        self.difference.as_ref()
    }

    /// Processes the next record of the stream.
    ///
    /// # Errors
    /// If the bytes do not have the format of `bpf/record.h`.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let view = format::view(bytes).map_err(Malformed)?;
        let head = match &view {
            View::Hook(_, record) => record.head,
            View::Params(params) => params.head,
        };
        let flow = match self.flows.entry(head.flow) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                self.tally.flows += 1;
                new.insert(Flow::new(&self.native))
            }
        };
        self.tally.lost += head.seq.saturating_sub(flow.next_seq);
        flow.is_whole &= head.seq == flow.next_seq;
        flow.next_seq = head.seq.wrapping_add(1);
        match view {
            View::Params(params) => flow.take_params(&params)?,
            View::Hook(hook, record) => {
                if hook == Hook::Init {
                    flow.start(&record);
                } else if record.before.icsk_ca_priv.iter().all(|word| *word == 0) {
                    // The state is all zero: before init, after tcp_disconnect, because the algorithm has no state, or because its
                    // state is zero.
                    flow.has_started &= flow.tp.icsk.icsk_ca_priv.iter().all(|word| *word == 0);
                }
                if !(flow.is_whole && flow.has_started) {
                    let missed = if flow.is_whole { &mut self.tally.outside } else { &mut self.tally.skipped };
                    *missed += 1;
                    return Ok(());
                }
                let returned = flow.call(&self.native, hook, &record);
                if let Some((field, kernel, native)) = flow.first_difference(hook, &record, returned) {
                    flow.is_whole = false;
                    let (flow, seq) = (head.flow, head.seq);
                    self.difference.get_or_insert(Difference { flow, seq, hook, field, kernel, native });
                } else {
                    self.tally.hooks += 1;
                    self.tally.acks += u64::from(hook.is_ack());
                }
            }
        }
        Ok(())
    }
}

impl Flow {
    fn new(native: &Loaded) -> Flow {
        let params = native.0.default_words();
        Flow { tp: TcpSock::zeroed(), params, next_seq: 0, is_whole: true, has_started: false }
    }

    fn start(&mut self, init: &Record) {
        self.tp = TcpSock::zeroed();
        self.tp.icsk.icsk_ca_priv = init.before.icsk_ca_priv;
        self.has_started = true;
        self.is_whole = true;
    }

    /// Stores the parameters, which are recorded within a hook, before the hook's record.
    fn take_params(&mut self, params: &Params) -> Result<(), Malformed> {
        let known = self.params.len();
        if params.words as usize != known {
            return Err(Malformed(format!("{} parameters of an algorithm that has {known}", params.words)));
        }
        self.params.copy_from_slice(&params.values[..known]);
        Ok(())
    }

    /// Calls `hook` with the connection's recorded state and returns the hook's return value, if any.
    fn call(&mut self, native: &Loaded, hook: Hook, record: &Record) -> u32 {
        self.tp.icsk.sk.cc_param_values = self.params.as_ptr();
        self.tp.icsk.sk.cc_now = record.now_ns;
        self.tp.icsk.sk.cc_wall = record.wall_ns;
        self.tp.icsk.sk.cc_rand_state = record.rand_state;
        set_socket(&mut self.tp, &record.socket);
        set_decision(&mut self.tp, &record.before);
        let ops = native.0.ops;
        let tp: *mut TcpSock = &mut *self.tp;
        // SAFETY: C that was compiled against bpf/tcp.h receives the connection type against which it was compiled, and
        // nothing else accesses the connection during the call. Hooks that the algorithm does not have are not called.
        unsafe {
            if let Some(enter) = native.0.enter {
                enter(tp);
            }
            let asked = |hook: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>| hook.map_or(0, |call| call(tp));
            match hook {
                Hook::Ssthresh => return asked(ops.ssthresh),
                Hook::UndoCwnd => return asked(ops.undo_cwnd),
                Hook::MinTsoSegs => return asked(ops.min_tso_segs),
                Hook::SndbufExpand => return asked(ops.sndbuf_expand),
                Hook::CongAvoid => ops.cong_avoid.map(|call| call(tp, record.args[0], record.args[1])),
                Hook::SetState => ops.set_state.map(|call| call(tp, record.args[0] as u8)),
                Hook::CwndEvent => ops.cwnd_event.map(|call| call(tp, record.args[0] as i32)),
                Hook::InAckEvent => ops.in_ack_event.map(|call| call(tp, record.args[0])),
                Hook::PktsAcked => ops.pkts_acked.map(|call| call(tp, &ack_sample(record))),
                Hook::CongControl => ops.cong_control.map(|call| call(tp, 0, 0, &rate_sample(record))),
                Hook::Init => ops.init.map(|call| call(tp)),
                Hook::Release => ops.release.map(|call| call(tp)),
            };
        }
        0
    }

    fn first_difference(&self, hook: Hook, record: &Record, returned: u32) -> Option<(String, u64, u64)> {
        let tp = &*self.tp;
        let Decision {
            sk_pacing_rate,
            sk_pacing_status,
            snd_cwnd,
            snd_cwnd_cnt,
            snd_cwnd_stamp,
            snd_ssthresh,
            app_limited,
            ..
        } = record.after;
        let answer = if hook.answers() { (record.returned, u64::from(returned)) } else { (0, 0) };
        let fields = [
            ("returned", answer.0, answer.1),
            ("snd_cwnd", snd_cwnd.into(), tp.snd_cwnd.into()),
            ("snd_ssthresh", snd_ssthresh.into(), tp.snd_ssthresh.into()),
            ("sk_pacing_rate", sk_pacing_rate, tp.icsk.sk.sk_pacing_rate),
            ("sk_pacing_status", sk_pacing_status.into(), tp.icsk.sk.sk_pacing_status.into()),
            ("snd_cwnd_cnt", snd_cwnd_cnt.into(), tp.snd_cwnd_cnt.into()),
            ("snd_cwnd_stamp", snd_cwnd_stamp.into(), tp.snd_cwnd_stamp.into()),
            ("app_limited", app_limited.into(), tp.app_limited.into()),
        ];
        let field = fields.into_iter().find(|(_, kernel, native)| kernel != native);
        let words = record.after.icsk_ca_priv.iter().zip(&tp.icsk.icsk_ca_priv).enumerate();
        field.map(|(name, kernel, native)| (name.to_owned(), kernel, native)).or_else(|| {
            let mut words = words.filter(|(_, (kernel, native))| kernel != native);
            words.next().map(|(i, (kernel, native))| (format!("icsk_ca_priv[{i}]"), *kernel, *native))
        })
    }
}

/// Sets the fields that hooks only read.
fn set_socket(tp: &mut TcpSock, s: &Socket) {
    tp.icsk.sk.sk_max_pacing_rate = s.sk_max_pacing_rate;
    tp.icsk.icsk_ca_state = s.icsk_ca_state as u8;
    tp.icsk.icsk_retransmits = s.icsk_retransmits as u8;
    tp.icsk.icsk_rto = s.icsk_rto;
    tp.tcp_mstamp = s.tcp_mstamp;
    tp.tcp_clock_cache = s.tcp_clock_cache;
    tp.tcp_wstamp_ns = s.tcp_wstamp_ns;
    tp.is_cwnd_limited = s.is_cwnd_limited as u8;
    tp.snd_cwnd_clamp = s.snd_cwnd_clamp;
    tp.prior_cwnd = s.prior_cwnd;
    tp.prior_ssthresh = s.prior_ssthresh;
    tp.mss_cache = s.mss_cache;
    tp.snd_una = s.snd_una;
    tp.snd_nxt = s.snd_nxt;
    tp.write_seq = s.write_seq;
    tp.high_seq = s.high_seq;
    tp.srtt_us = s.srtt_us;
    tp.mdev_us = s.mdev_us;
    tp.rttvar_us = s.rttvar_us;
    tp.rtt_min.s = s.rtt_min;
    tp.packets_out = s.packets_out;
    tp.sacked_out = s.sacked_out;
    tp.lost_out = s.lost_out;
    tp.retrans_out = s.retrans_out;
    tp.max_packets_out = s.max_packets_out;
    tp.delivered = s.delivered;
    tp.delivered_ce = s.delivered_ce;
    tp.lost = s.lost;
    tp.lsndtime = s.lsndtime;
    tp.reordering = s.reordering;
    tp.ecn_flags = s.ecn_flags as u8;
}

/// Sets the fields that hooks may write, except the private state. The transport writes these fields too.
fn set_decision(tp: &mut TcpSock, d: &Decision) {
    tp.icsk.sk.sk_pacing_rate = d.sk_pacing_rate;
    tp.icsk.sk.sk_pacing_status = d.sk_pacing_status;
    tp.snd_cwnd = d.snd_cwnd;
    tp.snd_cwnd_cnt = d.snd_cwnd_cnt;
    tp.snd_cwnd_stamp = d.snd_cwnd_stamp;
    tp.snd_ssthresh = d.snd_ssthresh;
    tp.app_limited = d.app_limited;
}

fn ack_sample(record: &Record) -> AckSample {
    let s = &record.sample;
    AckSample { pkts_acked: s.acked_sacked, rtt_us: s.rtt_us as i32, in_flight: s.prior_in_flight }
}

fn rate_sample(record: &Record) -> RateSample {
    let s = &record.sample;
    RateSample {
        prior_mstamp: s.prior_mstamp,
        prior_delivered: s.prior_delivered,
        prior_delivered_ce: s.prior_delivered_ce,
        delivered: s.delivered,
        delivered_ce: s.delivered_ce,
        interval_us: s.interval_us,
        snd_interval_us: s.snd_interval_us,
        rcv_interval_us: s.rcv_interval_us,
        rtt_us: s.rtt_us,
        losses: s.losses,
        acked_sacked: s.acked_sacked,
        prior_in_flight: s.prior_in_flight,
        last_end_seq: s.last_end_seq,
        is_app_limited: s.is_app_limited != 0,
        is_retrans: s.is_retrans != 0,
        is_ack_delayed: s.is_ack_delayed != 0,
    }
}
