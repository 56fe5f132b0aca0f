//! Factors that limit a flow's sending rate, over time.
//!
//! A sender that pauses waits for something. The event that ends the wait, or a condition during the wait, shows the
//! cause:
//!
//! - recovery: the wait ends with a packet that was sent before, or lies between such a packet and the ACK of all data
//!   that was outstanding then (RFC 6675);
//! - receiver window: the receive window had less than a segment of space until an ACK enlarged it (RFC 9293 §3.8.6);
//! - application: the wait follows a packet that is shorter than a segment, or one that is the only packet since the
//!   last push. A sender pushes the last data that it has (RFC 9293, MUST-61);
//! - window: the wait ends with an ACK that the packet follows immediately. This is the ACK clock: cwnd was full. It
//!   also applies if the path releases ACKs in bursts;
//! - unknown: the wait ends soon after an ACK, but later than the host's response time. The ACKs of a paced flow arrive
//!   as evenly as its packets leave;
//! - pacing: the wait follows a packet without push, and no ACK ends it. The sender had more data, and nothing else
//!   prevented its sending;
//! - after a pushed super-packet, if no ACK ends the wait: pacing if the waits are even, application if all data was
//!   acknowledged, otherwise unknown. Offloading pushes each super-packet, and some senders never push.
//!
//! A paced packet may follow an ACK by chance. Window and pacing are therefore distinguished by the longer total wait
//! within a round trip, and each round trip has the limit that held for most of it. A pacer is active for a whole flow.
//! If pacing makes up less than a tenth of the time under window and pacing, late or bunched ACKs explain it, and its
//! periods are unknown. If the capture was not taken at the sender, ACKs take effect at the sender `lag` later, and
//! limits that only the ACK clock distinguishes are unknown.

use serde::Serialize;
use std::collections::VecDeque;

/// A packet follows an ACK immediately if it comes within this fraction of the mean time between ACKs, or within
/// `PROMPT_NS`.
const PROMPT_SHARE: u64 = 4;
/// Time within which a host responds to an ACK immediately, ns.
const PROMPT_NS: u64 = 10_000;
/// An ACK also ended a wait if it came in this last fraction of the wait and the packet followed within a host's
/// response time. Paths that aggregate ACKs leave little time between ACKs.
const ANSWER_SHARE: u64 = 10;
/// A packet is clocked by an ACK if it follows within twice the response time in the handshake plus this time, ns.
const CLOCKED_NS: u64 = 100_000;
/// Maximum response time of a host, ns.
const ANSWER_NS: u64 = 1_000_000;
/// Weight of an ACK in the mean time between ACKs, and of a wait in the mean pace: one eighth, as in RFC 6298.
const MEMORY: f64 = 8.0;
/// Waits are even if they differ from the mean by at most this fraction.
const EVEN: f64 = 0.5;
/// Maximum wait of a paced sender after a long burst, ns. Linux's pacing sends the data of one millisecond at once, or
/// two segments if that is more (tcp_tso_autosize).
const LONGEST_PACED_NS: u64 = 4_000_000;
/// Number of segments in the smallest paced burst.
const PACED_SEGMENTS: i64 = 2;
/// On paths with a short RTT, Linux adds 64 KiB to a burst, halved for each 2^9 us of the minimum RTT (sysctl
/// tcp_tso_rtt_log).
const BURST_BYTES: i64 = 1 << 16;
const BURST_RTT_NS: u64 = 512_000;
/// Pacing is reported only if it makes up at least this fraction of the time under window and pacing.
const MIN_PACED: f64 = 0.1;
/// Number of packets after which the largest observed packet is assumed to be a full segment.
const PACKETS_TO_KNOW_MSS: u64 = 10;

/// The cause of a flow's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The application had no more data to send (or the socket's buffer had no space for it).
    Application,
    /// The receive window was full.
    ReceiverWindow,
    /// cwnd was full: ACKs clock packets out.
    Window,
    /// The sender's pacing timer; an application that writes super-packets evenly looks the same.
    Pacing,
    /// Loss recovery.
    Recovery,
    /// Undetermined: because of the capture's position, or because the evidence is ambiguous.
    Unknown,
}

/// A period in which one factor limits the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Period {
    /// The limit.
    pub limit: Limit,
    /// Time of the packet before the first wait, ns.
    pub from_ns: u64,
    /// Time of the packet after the last wait, ns.
    pub to_ns: u64,
    /// Frame number of the packet before the first wait.
    pub first_frame: u64,
    /// Frame number of the packet after the last wait.
    pub last_frame: u64,
}

/// Properties of a flow known when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Payload of the largest segment, bytes.
    pub mss: u32,
    /// Window scale shift of the receiver; `None` if the handshake was not captured.
    pub window_shift: Option<u8>,
    /// Time from an ACK at the capture to the data that it triggers, ns; 0 at the sender.
    pub lag_ns: u64,
    /// The sending host's response time in the handshake, ns; `None` if that was not captured.
    pub answer_ns: Option<u64>,
}

/// A data packet that passes the capture, with unwrapped sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Time, ns.
    pub at: u64,
    /// Frame number.
    pub frame: u64,
    /// First byte.
    pub start: i64,
    /// Byte after the last.
    pub end: i64,
    /// Whether PSH is set.
    pub is_pushed: bool,
}

/// An acknowledgement that passes the capture.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time, ns.
    pub at: u64,
    /// All data below this has arrived.
    pub ack: i64,
    /// The window field, not yet scaled.
    pub window: u16,
    /// Whether it acknowledges new data.
    pub is_news: bool,
    /// Minimum RTT of the flow so far, ns; `None` if no packet has one.
    pub rtt_min_ns: Option<u64>,
}

/// Time and frame of the newest packet, at which a wait begins.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: u64,
    frame: u64,
}

/// Whether the newest packet implies that the sender had more data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// More data was queued.
    More,
    /// No data was queued.
    Nothing,
    /// Undetermined: the application or offloading pushed the packet, or the sender never pushes.
    Either,
}

/// Cause of a wait, before the totals of its round trip decide between window and pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Application,
    ReceiverWindow,
    Acked,
    /// The packet was sent soon after an ACK, but later than the host's response time.
    Near,
    Paced,
    Unclear,
    Recovery,
}

/// Number of values of [`Wait`].
const WAITS: usize = Wait::Recovery as usize + 1;

/// Total waits of a round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    from: Mark,
    /// The round trip ends when this sequence number is acknowledged.
    until: i64,
    spent_ns: [u64; WAITS],
}

/// Determines the limits of a flow from its packets.
#[derive(Clone, Debug)]
pub struct Limits {
    terms: Terms,
    newest: Option<Mark>,
    behind: Behind,
    /// Bytes since the last push, including the newest packet.
    run: i64,
    has_pushed: bool,
    largest: u32,
    packets: u64,
    next: i64,
    una: i64,
    /// Right edge of the receive window that the sender knows.
    edge: Option<i64>,
    /// Right edge of the receive window that has passed the capture.
    advertised: Option<i64>,
    /// Windows that the sender does not know yet: the time when it will know each, and the window's right edge.
    coming: VecDeque<(u64, i64)>,
    /// Time of the last window update after the sender had filled the receive window.
    released_at: Option<u64>,
    is_filled: bool,
    news_at: Option<u64>,
    ack_gap_ns: Option<f64>,
    pace_ns_per_byte: Option<f64>,
    newest_bytes: i64,
    /// Minimum RTT of the flow so far, ns; `None` if no packet has one.
    rtt_min_ns: Option<u64>,
    recovery_until: Option<i64>,
    round: Option<Round>,
    last_round_ns: u64,
    periods: Vec<Period>,
}

impl Limits {
    /// Creates the state before the flow's first packet.
    pub fn new(terms: Terms) -> Limits {
        Limits {
            terms,
            newest: None,
            behind: Behind::More,
            run: 0,
            has_pushed: false,
            largest: 0,
            packets: 0,
            next: i64::MIN,
            una: i64::MIN,
            edge: None,
            advertised: None,
            coming: VecDeque::new(),
            released_at: None,
            is_filled: false,
            news_at: None,
            ack_gap_ns: None,
            pace_ns_per_byte: None,
            newest_bytes: 0,
            rtt_min_ns: None,
            recovery_until: None,
            round: None,
            last_round_ns: 0,
            periods: Vec::new(),
        }
    }

    /// Returns the number of bytes sent and not yet acknowledged.
    pub fn inflight(&self) -> u64 {
        self.newest.map_or(0, |_| (self.next - self.una).max(0) as u64)
    }

    /// Returns the free receive window beyond the acknowledged data, bytes; `None` if the window scale is unknown.
    pub fn window(&self) -> Option<u64> {
        self.advertised.map(|edge| edge.saturating_sub(self.una).max(0) as u64)
    }

    /// Processes a data packet.
    pub fn on_data(&mut self, data: &Data) {
        self.learn_windows(data.at);
        let Some(newest) = self.newest else {
            self.una = data.start;
            return self.take(data);
        };
        if data.end <= self.una {
            // this is a probe of a closed window or a keep-alive
            return;
        }
        let is_again = data.start < self.next;
        if is_again && self.recovery_until.is_none() {
            self.recovery_until = Some(self.next);
            self.close_round(newest);
        }
        let wait = self.wait_for(data, newest);
        let length = data.at.saturating_sub(newest.at);
        let until = data.end.max(self.next);
        let here = Mark { at: data.at, frame: data.frame };
        // a wait of at least half a round trip is a separate period, so that the limits before and after it are
        // distinguished
        if self.last_round_ns > 0 && length * 2 >= self.last_round_ns {
            self.close_round(newest);
            self.push(resolve_alone(wait, self.terms.lag_ns), newest, here);
        } else {
            let round = self.round.get_or_insert(Round { from: newest, until, spent_ns: [0; WAITS] });
            round.spent_ns[wait as usize] += length;
            if self.una >= round.until {
                // a round trip that recovery cut short does not count
                self.last_round_ns = here.at.saturating_sub(round.from.at);
                self.close_round(here);
            }
        }
        self.take(data);
    }

    /// Processes an acknowledgement.
    pub fn on_ack(&mut self, ack: &Ack) {
        if let Some(shift) = self.terms.window_shift {
            let edge = ack.ack + (i64::from(ack.window) << shift);
            self.advertised = Some(self.advertised.map_or(edge, |known| known.max(edge)));
            self.coming.push_back((ack.at + self.terms.lag_ns, edge));
            self.learn_windows(ack.at);
        }
        self.una = self.una.max(ack.ack);
        self.rtt_min_ns = ack.rtt_min_ns;
        if ack.is_news {
            if let Some(before) = self.news_at {
                // a pause is not representative of the time between ACKs
                let longest = if self.last_round_ns > 0 { self.last_round_ns } else { u64::MAX };
                let gap = ack.at.saturating_sub(before).min(longest) as f64;
                let known = self.ack_gap_ns.get_or_insert(gap);
                *known += (gap - *known) / MEMORY;
            }
            self.news_at = Some(ack.at);
        }
        if self.recovery_until.is_some_and(|until| self.una >= until) {
            self.recovery_until = None;
            if let Some(newest) = self.newest {
                self.close_round(newest);
            }
        }
    }

    /// Returns the periods in time order. Consecutive periods have different limits.
    pub fn finish(mut self) -> Vec<Period> {
        if let Some(newest) = self.newest {
            self.close_round(newest);
        }
        without_rare_pacing(self.periods)
    }

    fn learn_windows(&mut self, now: u64) {
        while let Some(&(at, edge)) = self.coming.front()
            && at <= now
        {
            self.coming.pop_front();
            self.edge = Some(self.edge.map_or(edge, |known| known.max(edge)));
            let was_filled = self.is_filled;
            self.is_filled = self.is_window_full();
            if was_filled && !self.is_filled {
                self.released_at = Some(at);
            }
        }
    }

    /// Whether the receive window has less space than a full segment.
    fn is_window_full(&self) -> bool {
        self.edge.is_some_and(|edge| edge - self.next < i64::from(self.mss()))
    }

    /// Payload of a full segment. The path or options may leave less than the handshake's MSS; then it is the largest
    /// observed payload.
    fn mss(&self) -> u32 {
        if self.packets < PACKETS_TO_KNOW_MSS { self.terms.mss } else { self.terms.mss.min(self.largest) }
    }

    fn wait_for(&mut self, data: &Data, newest: Mark) -> Wait {
        if self.recovery_until.is_some() {
            return Wait::Recovery;
        }
        // before the second ACK, only the length of the wait is available for comparison
        let gap = self.ack_gap_ns.map_or(data.at.saturating_sub(newest.at), |ns| ns as u64);
        let prompt_ns = PROMPT_NS.max(gap / PROMPT_SHARE);
        let wait = data.at.saturating_sub(newest.at);
        let prompt_ns = prompt_ns.max((wait / ANSWER_SHARE).min(ANSWER_NS));
        let is_soon_after = |at: Option<u64>| at.is_some_and(|at| data.at.saturating_sub(at) <= prompt_ns);
        let was_filled = self.is_filled || self.released_at.is_some_and(|at| at >= newest.at);
        if was_filled && (self.is_filled || is_soon_after(self.released_at)) {
            return Wait::ReceiverWindow;
        }
        if self.behind == Behind::Nothing {
            return Wait::Application;
        }
        if self.terms.lag_ns > 0 {
            // the path spaces packets as pacing does, so `resolve` makes this limit unknown
            return Wait::Paced;
        }
        if is_soon_after(self.news_at) {
            let clocked_ns = self.terms.answer_ns.map_or(u64::MAX, |ns| 2 * ns + CLOCKED_NS);
            let is_at_once = self.news_at.is_some_and(|at| data.at.saturating_sub(at) <= clocked_ns);
            return if is_at_once { Wait::Acked } else { Wait::Near };
        }
        if self.behind == Behind::More {
            Wait::Paced
        } else if self.una >= self.next || self.is_beyond_pacing(wait) {
            Wait::Application
        } else if self.is_even(wait) {
            Wait::Paced
        } else {
            Wait::Unclear
        }
    }

    /// Whether the newest burst and a wait of this length after it cannot be caused by pacing.
    fn is_beyond_pacing(&self, wait_ns: u64) -> bool {
        let doublings = self.rtt_min_ns.map_or(u32::MAX, |ns| (ns / BURST_RTT_NS).min(31) as u32);
        let extra = BURST_BYTES.checked_shr(doublings).unwrap_or(0);
        wait_ns > LONGEST_PACED_NS && self.newest_bytes > PACED_SEGMENTS * i64::from(self.mss()) + extra
    }

    /// Whether the pace of a wait (time per byte) is close to that of the previous waits.
    fn is_even(&mut self, wait_ns: u64) -> bool {
        let pace = wait_ns as f64 / self.newest_bytes.max(1) as f64;
        let known = self.pace_ns_per_byte.get_or_insert(pace);
        let is_even = (pace - *known).abs() <= EVEN * *known;
        *known += (pace - *known) / MEMORY;
        is_even
    }

    fn take(&mut self, data: &Data) {
        let payload = (data.end - data.start) as u32;
        self.packets += 1;
        self.largest = self.largest.max(payload);
        self.run += i64::from(payload);
        self.has_pushed |= data.is_pushed;
        let (mss, run) = (self.mss().max(1), self.run);
        let is_cut_by_window = self.edge.is_some_and(|edge| data.end == edge);
        self.behind = if !payload.is_multiple_of(mss) && !is_cut_by_window {
            Behind::Nothing
        } else if !data.is_pushed {
            if self.has_pushed { Behind::More } else { Behind::Either }
        } else if run <= i64::from(mss) {
            Behind::Nothing
        } else {
            Behind::Either
        };
        self.newest_bytes = if self.has_pushed { run } else { i64::from(payload) };
        if data.is_pushed || !self.has_pushed {
            self.run = 0;
        }
        self.next = self.next.max(data.end);
        self.newest = Some(Mark { at: data.at, frame: data.frame });
        self.is_filled = self.is_window_full();
    }

    fn close_round(&mut self, to: Mark) {
        let Some(round) = self.round.take() else { return };
        self.push(resolve(round.spent_ns, self.terms.lag_ns), round.from, to);
    }

    fn push(&mut self, limit: Limit, from: Mark, to: Mark) {
        if to.at <= from.at {
            return;
        }
        match self.periods.last_mut() {
            Some(last) if last.limit == limit => (last.to_ns, last.last_frame) = (to.at, to.frame),
            _ => self.periods.push(Period {
                limit,
                from_ns: from.at,
                to_ns: to.at,
                first_frame: from.frame,
                last_frame: to.frame,
            }),
        }
    }
}

/// Replaces pacing by unknown if pacing is too rare for a sender that paces.
fn without_rare_pacing(periods: Vec<Period>) -> Vec<Period> {
    let time = |limit: Limit| -> u64 { periods.iter().filter(|p| p.limit == limit).map(|p| p.to_ns - p.from_ns).sum() };
    let (paced, clocked) = (time(Limit::Pacing) as f64, time(Limit::Window) as f64);
    if paced >= MIN_PACED * (paced + clocked) {
        return periods;
    }
    let mut kept: Vec<Period> = Vec::with_capacity(periods.len());
    for mut period in periods {
        if period.limit == Limit::Pacing {
            period.limit = Limit::Unknown;
        }
        match kept.last_mut() {
            Some(last) if last.limit == period.limit => {
                (last.to_ns, last.last_frame) = (period.to_ns, period.last_frame);
            }
            _ => kept.push(period),
        }
    }
    kept
}

/// Returns the limit that held for most of a round trip.
fn resolve(spent_ns: [u64; WAITS], lag_ns: u64) -> Limit {
    let spent = |wait: Wait| spent_ns[wait as usize];
    let (acked, near, paced) = (spent(Wait::Acked), spent(Wait::Near), spent(Wait::Paced));
    let clock = if lag_ns > 0 {
        Limit::Unknown
    } else if paced > acked + near {
        Limit::Pacing
    } else if acked >= near {
        Limit::Window
    } else {
        Limit::Unknown
    };
    let parts = [
        (Limit::Recovery, spent(Wait::Recovery)),
        (Limit::ReceiverWindow, spent(Wait::ReceiverWindow)),
        (Limit::Application, spent(Wait::Application)),
        (Limit::Unknown, spent(Wait::Unclear)),
        (clock, acked + near + paced),
    ];
    parts.into_iter().rev().max_by_key(|&(_, ns)| ns).map_or(Limit::Unknown, |(limit, _)| limit)
}

fn resolve_alone(wait: Wait, lag_ns: u64) -> Limit {
    let mut spent_ns = [0; WAITS];
    spent_ns[wait as usize] = 1;
    resolve(spent_ns, lag_ns)
}

#[cfg(test)]
mod tests;
