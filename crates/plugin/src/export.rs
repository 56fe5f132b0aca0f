//! The table of functions of a plug-in, made of a controller in Rust.
//!
//! No panic leaves the plug-in: it becomes the flow's fault, which ends the run with its message.

use crate::{abi, wants};
use fairweir_cca::{
    Ack, AckedPacket, BuildError, CaState, Cause, Context, Controller, Loss, LostPacket, RateSample, Row, Sender, Sent,
    Start,
};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Number, Value};
use std::any::Any;
use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The largest whole number that a parameter, passed as f64, can have exactly.
const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;
/// Start of a flow for which the names of the telemetry and the interests are read.
const EXAMPLE: Start =
    Start { mss: Bytes(1500), initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 };

/// A plug-in's table, and the texts that it points to.
#[derive(Debug)]
pub struct Table {
    table: abi::Cc,
    _params: Box<[abi::Param]>,
    _telemetry_names: Box<[*const c_char]>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers are to the heap memory that the table owns; nothing changes it.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// Returns the table as `fairweir_cc_v1` returns it.
    pub fn as_ptr(&self) -> *const abi::Cc {
        &self.table
    }
}

/// Texts with a terminating zero, which live as long as the table.
#[derive(Default)]
struct Texts(Vec<CString>);

impl Texts {
    fn keep(&mut self, text: &str) -> *const c_char {
        self.0.push(CString::new(text.replace('\0', " ")).unwrap_or_default());
        self.0.last().map_or(ptr::null(), |text| text.as_ptr())
    }
}

/// Unit, default and range of a parameter whose default value in JSON is `value`.
///
/// # Panics
/// If the interface cannot pass a parameter of this kind.
fn param(name: &str, value: &Value, texts: &mut Texts) -> abi::Param {
    let (unit, def, min) = match value {
        Value::Bool(flag) => (abi::unit::FLAG, f64::from(u8::from(*flag)), 0.0),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => (abi::unit::INTEGER, whole as f64, 0.0),
            None => (abi::unit::NUMBER, number.as_f64().unwrap_or_default(), f64::MIN),
        },
        Value::String(text) => match (text.parse::<Dur>(), text.parse::<Rate>()) {
            (Ok(time), _) => (abi::unit::TIME, time.as_nanos() as f64, 0.0),
            (_, Ok(rate)) => (abi::unit::RATE, rate.bytes_per_sec() as f64, 0.0),
            _ => panic!("parameter `{name}`: a plug-in's parameters are numbers, flags, times and rates"),
        },
        _ => panic!("parameter `{name}`: a plug-in's parameters are numbers, flags, times and rates"),
    };
    let max = match unit {
        abi::unit::FLAG => 1.0,
        abi::unit::NUMBER => f64::MAX,
        _ => MAX_INTEGER,
    };
    abi::Param { name: texts.keep(name), doc: texts.keep(""), unit, def, min, max }
}

/// A parameter's value in JSON, as [`param`] read its default.
fn json(unit: u64, value: f64) -> Value {
    match unit {
        abi::unit::FLAG => Value::Bool(value != 0.0),
        abi::unit::INTEGER => Value::from(value as u64),
        abi::unit::TIME => Value::from(Dur::from_nanos(value as u64).to_string()),
        abi::unit::RATE => Value::from(Rate::from_bytes_per_sec(value as u64).to_string()),
        _ => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}

/// Names and units of the parameters of `R`, in the order of the table.
fn defaults<R: Row>() -> Map<String, Value> {
    match fairweir_cca::defaults::<R::Params>() {
        Value::Object(defaults) => defaults,
        _ => Map::new(),
    }
}

/// A controller with default parameters.
///
/// # Panics
/// If `R` refuses them.
fn example<R: Row>() -> R {
    R::build(&EXAMPLE, R::Params::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn telemetry_names(controller: &dyn Controller) -> Vec<&'static str> {
    let mut names = Vec::new();
    controller.telemetry(&mut |name, _| names.push(name));
    names
}

/// Makes the table of the controller `R`, whose plug-in has this version.
///
/// # Panics
/// If `R` cannot be built with its default parameters, or has a parameter that the interface cannot pass.
pub fn table<R: Row>(version: &str) -> Table {
    let mut texts = Texts::default();
    let example = example::<R>();
    let telemetry_names: Vec<*const c_char> = telemetry_names(&example).into_iter().map(|n| texts.keep(n)).collect();
    let params: Vec<abi::Param> = defaults::<R>().iter().map(|(name, value)| param(name, value, &mut texts)).collect();
    let (params, telemetry_names) = (params.into_boxed_slice(), telemetry_names.into_boxed_slice());
    let table = abi::Cc {
        abi: abi::ABI,
        size: size_of::<abi::Cc>() as u32,
        name: texts.keep(R::NAME),
        version: texts.keep(version),
        params: params.as_ptr(),
        param_count: params.len() as u64,
        wants: wants::of(example.interests()),
        create: Some(create::<R>),
        destroy: Some(destroy::<R>),
        on_ack: Some(on_ack::<R>),
        on_congestion: Some(on_congestion::<R>),
        decide: Some(decide::<R>),
        on_sent: Some(on_sent::<R>),
        on_packet_acked: Some(on_packet_acked::<R>),
        on_packet_lost: Some(on_packet_lost::<R>),
        on_recovered: Some(on_recovered::<R>),
        fault: Some(fault::<R>),
        telemetry_names: telemetry_names.as_ptr(),
        telemetry_count: telemetry_names.len() as u64,
        telemetry: Some(telemetry::<R>),
    };
    Table { table, _params: params, _telemetry_names: telemetry_names, _texts: texts.0 }
}

/// A flow of a plug-in.
struct Flow<R> {
    /// `None` if it could not be built.
    controller: Option<R>,
    sender: Sender,
    rng: ChaCha8Rng,
    /// Number of values for which the caller of `telemetry` has room.
    telemetry_count: usize,
    /// The message of the error that ends the run.
    fault: Option<CString>,
}

/// The text of a panic.
fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    format!("panics: {text}")
}

fn message(text: &str) -> Option<CString> {
    Some(CString::new(text.replace('\0', " ")).unwrap_or_default())
}

impl<R: Row> Flow<R> {
    /// The flow at `flow`, which `create` returned.
    ///
    /// # Safety
    /// `flow` must be the result of `create` of the same `R`, and not be in use.
    unsafe fn of<'a>(flow: *mut c_void) -> &'a mut Flow<R> {
        // SAFETY: the caller's promise.
        unsafe { &mut *flow.cast() }
    }

    /// Updates the connection's state, and calls the controller unless it has failed.
    fn event(&mut self, conn: &abi::Conn, call: impl FnOnce(&mut R, &Sender, &mut Context<'_>)) {
        update(&mut self.sender, conn);
        let Some(controller) = self.controller.as_mut().filter(|_| self.fault.is_none()) else { return };
        let mut cx = Context { now: Time::from_nanos(conn.now), rng: &mut self.rng };
        let outcome = catch_unwind(AssertUnwindSafe(|| call(controller, &self.sender, &mut cx)));
        if let Err(payload) = outcome {
            self.fault = message(&panic_text(&*payload));
        } else if let Some(fault) = controller.fault() {
            self.fault = message(&fault.0);
        }
    }
}

/// Number of packets in `bytes`.
fn packets(bytes: u64, conn: &abi::Conn) -> u64 {
    bytes.checked_div(conn.mss).unwrap_or(0)
}

fn update(sender: &mut Sender, conn: &abi::Conn) {
    sender.snd_una = conn.first_unacked;
    sender.snd_nxt = conn.next_packet;
    sender.sacked_out = packets(conn.sacked, conn);
    sender.lost_out = packets(conn.lost_out, conn);
    sender.retrans_out = packets(conn.retrans_out, conn);
    sender.delivered = packets(conn.delivered, conn);
    sender.delivered_ce = packets(conn.delivered_ce, conn);
    sender.lost = packets(conn.lost, conn);
    sender.srtt = Dur::from_nanos(conn.srtt);
    sender.rttvar = Dur::from_nanos(conn.rttvar);
    sender.min_rtt = Dur::from_nanos(conn.min_rtt);
    sender.ca_state = match conn.state {
        0 => CaState::Open,
        1 => CaState::Disorder,
        2 => CaState::Cwr,
        3 => CaState::Recovery,
        _ => CaState::Loss,
    };
    sender.is_cwnd_limited = conn.cwnd_limited != 0;
}

/// `value`, unless it stands for nothing.
fn given(value: u64) -> Option<u64> {
    (value != abi::NONE).then_some(value)
}

unsafe extern "C" fn create<R: Row>(start: *const abi::Start) -> *mut c_void {
    // SAFETY: the interface promises a valid struct with a value for each parameter.
    let (start, values) = unsafe { (&*start, (*start).params) };
    let built = catch_unwind(|| {
        let defaults = defaults::<R>();
        let given_params = defaults.iter().enumerate().map(|(i, (name, default))| {
            let unit = param(name, default, &mut Texts::default()).unit;
            // SAFETY: as above.
            (name.clone(), json(unit, unsafe { *values.add(i) }))
        });
        let params = fairweir_cca::typed(R::NAME, &Value::Object(given_params.collect()))?;
        R::build(
            &Start {
                mss: Bytes(start.mss),
                initial_cwnd: Bytes(start.initial_cwnd),
                oracle_rtprop: given(start.oracle_rtprop).map(Dur::from_nanos),
                first_packet: 0,
                seed: start.seed,
            },
            params,
        )
    });
    let telemetry_count = catch_unwind(|| telemetry_names(&example::<R>()).len()).unwrap_or(0);
    let (controller, fault) = match built {
        Ok(Ok(controller)) => (Some(controller), None),
        // The program names the plug-in itself.
        Ok(Err(BuildError::BadParams { reason, .. })) => (None, message(&reason)),
        Ok(Err(error)) => (None, message(&error.to_string())),
        Err(payload) => (None, message(&panic_text(&*payload))),
    };
    let mut sender = Sender::new(Bytes(start.mss));
    sender.oracle_rtprop = given(start.oracle_rtprop).map(Dur::from_nanos);
    let rng = ChaCha8Rng::seed_from_u64(start.seed);
    let flow = Flow { controller, sender, rng, telemetry_count, fault };
    Box::into_raw(Box::new(flow)).cast()
}

unsafe extern "C" fn destroy<R: Row>(flow: *mut c_void) {
    // SAFETY: `create` made it, and this is the last call for it.
    drop(unsafe { Box::<Flow<R>>::from_raw(flow.cast()) });
}

unsafe extern "C" fn on_ack<R: Row>(flow: *mut c_void, conn: *const abi::Conn, ack: *const abi::Ack) {
    // SAFETY: the interface promises valid structs, for this and all functions below.
    let (flow, conn, ack) = unsafe { (Flow::<R>::of(flow), &*conn, &*ack) };
    flow.event(conn, |controller, sender, cx| {
        let ack = Ack {
            acked: packets(ack.acked, conn),
            cum_acked: packets(ack.cum_acked, conn),
            lost: packets(ack.lost, conn),
            marked: packets(ack.marked, conn),
            prior_inflight: packets(ack.prior_inflight, conn),
            rtt: given(ack.rtt).map(Dur::from_nanos),
            newest: given(ack.newest_packet),
            newest_sent: Time::from_nanos(ack.newest_sent_at),
            rate: RateSample {
                delivered: packets(ack.rate_delivered, conn),
                interval: Dur::from_nanos(ack.rate_interval),
                prior_delivered: packets(ack.rate_prior_delivered, conn),
                is_app_limited: ack.rate_app_limited != 0,
            },
            sender,
        };
        controller.on_ack(&ack, cx);
    });
}

unsafe extern "C" fn on_congestion<R: Row>(flow: *mut c_void, conn: *const abi::Conn, event: *const abi::Congestion) {
    // SAFETY: see `on_ack`.
    let (flow, conn, event) = unsafe { (Flow::<R>::of(flow), &*conn, &*event) };
    let cause = match event.cause {
        abi::cause::MARKED => Cause::Ecn,
        abi::cause::TIMEOUT => Cause::Timeout,
        abi::cause::PERSISTENT => Cause::PersistentCongestion,
        _ => Cause::Dupack,
    };
    flow.event(conn, |controller, sender, cx| {
        let prior_inflight = packets(event.prior_inflight, conn);
        controller.on_loss(&Loss { cause, prior_inflight, is_repeated: event.repeated != 0, sender }, cx);
    });
}

unsafe extern "C" fn decide<R: Row>(flow: *const c_void, decision: *mut abi::Decision) {
    // SAFETY: see `on_ack`.
    let (flow, decision) = unsafe { (&*flow.cast::<Flow<R>>(), &mut *decision) };
    let Some(controller) = &flow.controller else { return };
    *decision = abi::Decision {
        cwnd: controller.cwnd().0,
        // 0 means without pacing; the slowest rate is 1 byte per second.
        pacing_rate: controller.pacing_rate().map_or(0, |rate| rate.bytes_per_sec().max(1)),
        ssthresh: controller.ssthresh().map_or(abi::NONE, |ssthresh| ssthresh.0),
    };
}

unsafe extern "C" fn on_sent<R: Row>(flow: *mut c_void, conn: *const abi::Conn, sent: *const abi::Sent) {
    // SAFETY: see `on_ack`.
    let (flow, conn, sent) = unsafe { (Flow::<R>::of(flow), &*conn, &*sent) };
    flow.event(conn, |controller, sender, cx| {
        controller.on_send(&Sent { seq: sent.packet, is_retransmit: sent.retransmission != 0, sender }, cx);
    });
}

unsafe extern "C" fn on_packet_acked<R: Row>(
    flow: *mut c_void,
    conn: *const abi::Conn,
    acked: *const abi::AckedPacket,
) {
    // SAFETY: see `on_ack`.
    let (flow, conn, acked) = unsafe { (Flow::<R>::of(flow), &*conn, &*acked) };
    flow.event(conn, |controller, _, cx| {
        let acked = AckedPacket {
            seq: acked.packet,
            sent: Time::from_nanos(acked.sent_at),
            was_retransmitted: acked.retransmitted != 0,
            is_app_limited: acked.app_limited != 0,
        };
        controller.on_packet_acked(&acked, cx);
    });
}

unsafe extern "C" fn on_packet_lost<R: Row>(flow: *mut c_void, conn: *const abi::Conn, lost: *const abi::LostPacket) {
    // SAFETY: see `on_ack`.
    let (flow, conn, lost) = unsafe { (Flow::<R>::of(flow), &*conn, &*lost) };
    flow.event(conn, |controller, _, cx| {
        controller.on_packet_lost(&LostPacket { seq: lost.packet, sent: Time::from_nanos(lost.sent_at) }, cx);
    });
}

unsafe extern "C" fn on_recovered<R: Row>(flow: *mut c_void, conn: *const abi::Conn) {
    // SAFETY: see `on_ack`.
    let (flow, conn) = unsafe { (Flow::<R>::of(flow), &*conn) };
    flow.event(conn, |controller, sender, cx| controller.on_recovered(sender, cx));
}

unsafe extern "C" fn fault<R: Row>(flow: *const c_void) -> *const c_char {
    // SAFETY: see `on_ack`.
    let flow = unsafe { &*flow.cast::<Flow<R>>() };
    flow.fault.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

unsafe extern "C" fn telemetry<R: Row>(flow: *const c_void, values: *mut f64) {
    // SAFETY: see `on_ack`; the caller has room for a value for each name.
    let flow = unsafe { &*flow.cast::<Flow<R>>() };
    let mut next = 0;
    if let Some(controller) = &flow.controller {
        controller.telemetry(&mut |_, value| {
            if next < flow.telemetry_count {
                // SAFETY: as above.
                unsafe { *values.add(next) = value }
            }
            next += 1;
        });
    }
}
