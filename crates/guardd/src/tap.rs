//! The programs of `bpf/guard/`, loaded and attached to a device: a source of packets, and a sink of windows.

use crate::device::Device;
use crate::error::{During, GuardError, bpf};
use crate::hook::{self, Attachment, Hook};
use crate::{record, renewal};
use fairweir_guard::{FlowKey, Packet, WindowTarget};
use fairweir_kernel::libbpf;
use fairweir_tcp::Direction;
use fairweir_units::Time;
use libbpf_rs::{
    Iter, Link, Map, MapCore, MapFlags, Object, ObjectBuilder, OpenMapMut, ProgramInput, RingBuffer, RingBufferBuilder,
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

/// The program that iterates over sockets.
const CLAMP: &str = "guard_clamp";
/// The program that sends.
const RENEW: &str = "guard_renew";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guard.bpf.o"));

/// Counters of the kernel side since it was attached; in the order of `guard_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Packets that were summarised.
    pub summarised: u64,
    /// Summaries dropped because the ring buffer was full.
    pub lost: u64,
    /// Pure ACKs not summarised while the ring buffer was filling.
    pub thinned: u64,
    /// Data merged into a later summary because the ring buffer was full.
    pub merged: u64,
    /// ACKs that left with a smaller window; with [`Enforcement::Clamp`] also changes of clamps.
    pub rewritten: u64,
    /// ACKs whose window was not modified, as its scale is unknown.
    pub unscaled: u64,
    /// ACKs whose window was not modified, as they are signed by TCP-AO or TCP-MD5.
    #[serde(default)]
    pub authenticated: u64,
    /// Data packets dropped because they are beyond the advertised window.
    #[serde(default)]
    pub beyond: u64,
    /// ACKs sent again with a larger window.
    #[serde(default)]
    pub renewed: u64,
}

/// How flows are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// By the windows in departing ACKs, of this host and of those behind it; undone even by `kill -9`.
    #[default]
    Rewrite,
    /// By `TCP_WINDOW_CLAMP` of this host's sockets, and by rewriting as long as the clamp has not taken effect;
    /// forwarded flows are not modified. After `kill -9` connections keep their last clamp until their buffers grow.
    Clamp,
}

/// The programs in the kernel, at no device yet.
#[derive(Debug)]
pub struct Programs {
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Packet>>>,
    waits: RingBuffer<'static>,
    waiting: Rc<RefCell<Vec<(FlowKey, Time)>>>,
    link_header: u32,
    /// Iterates over all sockets when it is read.
    clamps: Option<Link>,
    object: Object,
}

impl Programs {
    /// Loads them for the device of number `device`, with `link_header` bytes before the IP header.
    ///
    /// # Errors If the kernel rejects it.
    pub fn load(device: u32, link_header: u32, enforcement: Enforcement) -> Result<Programs, GuardError> {
        let (object, said) = libbpf::listening(|| load(device, link_header, enforcement));
        let object = object
            .map_err(|e| io::Error::new(bpf(e).kind(), libbpf::gist(&said)))
            .during(|| "load guard's programs".into())?;
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let ring = ring_of(&object, "guard_packets", &arrived, record::packet);
        let ring = ring.map_err(bpf).during(|| "the ring of packets".into())?;
        let waiting = Rc::new(RefCell::new(Vec::new()));
        let waits = ring_of(&object, "guard_waits", &waiting, record::wait);
        let waits = waits.map_err(bpf).during(|| "the ring of waiting senders".into())?;
        let clamp = object.progs_mut().find(|p| p.name() == CLAMP).filter(|_| enforcement == Enforcement::Clamp);
        let clamps = clamp.map(|p| p.attach()).transpose().map_err(bpf).during(|| "attach to sockets".into())?;
        Ok(Programs { ring, arrived, waits, waiting, link_header, clamps, object })
    }

    /// Passes on the packets since the last call; does not wait.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn drain(&mut self, mut sink: impl FnMut(&Packet)) -> Result<(), GuardError> {
        self.ring.consume().map_err(bpf).during(|| "read the ring of packets".into())?;
        self.arrived.borrow_mut().drain(..).for_each(|packet| sink(&packet));
        Ok(())
    }

    /// Becomes readable when the ring is a quarter full.
    pub fn filling(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor, and the borrow ends before it.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }

    /// The flows whose senders wait for a larger window since the last call, and until when.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn waiting(&self) -> Result<Vec<(FlowKey, Time)>, GuardError> {
        self.waits.consume().map_err(bpf).during(|| "read the ring of waiting senders".into())?;
        Ok(self.waiting.take())
    }

    /// Becomes readable when a sender waits.
    pub fn waits(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor, and the borrow ends before it.
        unsafe { BorrowedFd::borrow_raw(self.waits.epoll_fd()) }
    }

    /// Sends the last ACK of `flow` once more, if its sender waits for a larger window; the program at the device
    /// decides how large that is.
    ///
    /// # Errors
    /// If the maps cannot be read.
    pub fn renew(&self, flow: &FlowKey) -> Result<(), GuardError> {
        self.last_ack(flow)?.map_or(Ok(()), |frame| self.send(&frame))
    }

    fn last_ack(&self, flow: &FlowKey) -> Result<Option<Vec<u8>>, GuardError> {
        let what = || format!("look up the window promised to {}", flow.remote());
        let found = self.map("guard_promises")?.lookup(&record::flow(flow), MapFlags::ANY).map_err(bpf).during(what)?;
        let last = found.as_deref().and_then(record::promised).filter(|last| last.is_waiting);
        Ok(last.and_then(|last| renewal::frame(&last, self.link_header)))
    }

    fn send(&self, frame: &[u8]) -> Result<(), GuardError> {
        let input = ProgramInput { data_in: Some(frame), repeat: 1, ..ProgramInput::default() };
        let program = self.object.progs_mut().find(|p| p.name() == RENEW).ok_or_else(missing)?;
        program.test_run(input).map_err(bpf).during(|| "send an ACK once more".into())?;
        Ok(())
    }

    /// From the next ACK of `flow` on, its window leads towards `target`. `wscale` is for flows without a socket here.
    ///
    /// # Errors
    /// If there are too many.
    pub fn hold(&self, flow: &FlowKey, target: WindowTarget, wscale: Option<u8>) -> Result<(), GuardError> {
        let value = record::target(target, wscale);
        let held = self.map("guard_targets")?.update(&record::flow(flow), &value, MapFlags::ANY);
        held.map_err(bpf).during(|| format!("hold {} > {}", flow.remote(), flow.local()))
    }

    /// The windows of `flow` are its host's own again.
    ///
    /// # Errors
    /// If the maps cannot be written.
    pub fn release(&self, flow: &FlowKey) -> Result<(), GuardError> {
        let key = record::flow(flow);
        let last_ack = self.last_ack(flow)?;
        // Promises from now on are not tracked.
        for map in ["guard_targets", "guard_promises"] {
            match self.map(map)?.delete(&key) {
                Err(e) if e.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(bpf(e)).during(|| format!("release {} > {}", flow.remote(), flow.local()));
                }
                _ => {}
            }
        }
        // Only this ends its sender's wait.
        last_ack.map_or(Ok(()), |frame| self.send(&frame))
    }

    /// Time of the last decision about `flow`'s window, by the kernel's clock: a test can repeat the decision.
    #[doc(hidden)]
    pub fn decided_at(&self, flow: &FlowKey) -> Option<Time> {
        let found = self.map("guard_promises").ok()?.lookup(&record::flow(flow), MapFlags::ANY).ok()??;
        record::decided_at(&found)
    }

    /// With [`Enforcement::Clamp`], clamps or releases the sockets of the process's network namespace according to the
    /// targets; to be called repeatedly, as a growing buffer widens its clamp.
    ///
    /// # Errors If the kernel rejects it.
    pub fn clamp(&self) -> Result<(), GuardError> {
        let what = || "clamp sockets".to_owned();
        let Some(link) = &self.clamps else { return Ok(()) };
        let mut sockets = Iter::new(link).map_err(bpf).during(what)?;
        // The program writes nothing.
        sockets.read_to_end(&mut Vec::new()).map(|_| ()).during(what)
    }

    /// Counters of the kernel side.
    pub fn counts(&self) -> KernelCounts {
        let bss = self.object.maps().find(|m| m.name().as_encoded_bytes().ends_with(b".bss"));
        let bytes = bss.and_then(|m| m.lookup(&[0; 4], MapFlags::ANY).ok().flatten()).unwrap_or_default();
        let mut words = bytes.chunks_exact(8).map(|b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
        let [summarised, lost, thinned, merged, rewritten, unscaled, authenticated, beyond, renewed] =
            std::array::from_fn(|_| words.next().unwrap_or(0));
        KernelCounts { summarised, lost, thinned, merged, rewritten, unscaled, authenticated, beyond, renewed }
    }

    /// Runs the program of `direction` on `frame` (with an Ethernet header), `repeat` times, without sending; also returns
    /// the time of each run.
    ///
    /// # Errors
    /// If the kernel refuses the frame.
    pub fn rehearse(&self, direction: Direction, frame: &[u8], repeat: u32) -> Result<(Vec<u8>, Duration), GuardError> {
        let mut out = vec![0; frame.len()];
        let input = ProgramInput { data_in: Some(frame), data_out: Some(&mut out), repeat, ..ProgramInput::default() };
        let program = self.object.progs_mut().find(|p| p.name() == hook::program(direction)).ok_or_else(missing)?;
        let output = program.test_run(input).map_err(bpf).during(|| format!("rehearse {direction:?}"))?;
        let duration = output.duration;
        Ok((out, duration))
    }

    fn attach(&self, device: u32, direction: Direction, attachment: Attachment) -> Result<Hook, GuardError> {
        let program = self.object.progs().find(|p| p.name() == hook::program(direction)).ok_or_else(missing)?;
        Hook::attach(program.as_fd(), device, direction, attachment)
    }

    fn map(&self, name: &str) -> Result<Map<'_>, GuardError> {
        self.object.maps().find(|m| m.name() == name).ok_or_else(missing)
    }
}

/// Attached to a device until it is dropped; then every window is the host's own again.
#[derive(Debug)]
pub struct Tap {
    // First: no packet may find the maps removed.
    hooks: [Hook; 2],
    programs: Programs,
}

impl Tap {
    /// Loads the programs and attaches them to `device`.
    ///
    /// # Errors If the kernel rejects it.
    pub fn open(device: &Device, enforcement: Enforcement, attachment: Attachment) -> Result<Tap, GuardError> {
        let programs = Programs::load(device.index, device.link_header, enforcement)?;
        let hook = |direction| programs.attach(device.index, direction, attachment);
        // Departures first: a flow's first packets are then seen in their order.
        let hooks = [hook(Direction::Outgoing)?, hook(Direction::Incoming)?];
        Ok(Tap { hooks, programs })
    }

    /// Whether everything ends with the process, however that ends.
    pub fn is_linked(&self) -> bool {
        self.hooks.iter().all(Hook::is_link)
    }

    /// Its programs.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Its programs, for reading packets.
    pub fn programs_mut(&mut self) -> &mut Programs {
        &mut self.programs
    }
}

fn missing() -> GuardError {
    GuardError::refused("bpf/guard/ lacks a part that the daemon names", "this is a bug: please report it")
}

fn load(device: u32, link_header: u32, enforcement: Enforcement) -> libbpf_rs::Result<Object> {
    let mut open = ObjectBuilder::default().name("guard")?.open_memory(OBJECT)?;
    let is_constants = |map: &OpenMapMut<'_>| map.name().as_encoded_bytes().ends_with(b".rodata");
    if let Some(mut constants) = open.maps_mut().find(is_constants) {
        // In the order of their definition in the source.
        let words = [link_header, u32::from(enforcement == Enforcement::Clamp), device];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        constants.set_initial_value(&bytes)?;
    }
    if let Some(mut clamp) = open.progs_mut().find(|p| p.name() == CLAMP) {
        clamp.set_autoload(enforcement == Enforcement::Clamp);
    }
    open.load()
}

fn ring_of<T: 'static>(
    object: &Object,
    name: &str,
    arrived: &Rc<RefCell<Vec<T>>>,
    read: impl Fn(&[u8]) -> Option<T> + 'static,
) -> libbpf_rs::Result<RingBuffer<'static>> {
    let not_there = || libbpf_rs::Error::from(io::Error::from(io::ErrorKind::NotFound));
    let records = object.maps().find(|m| m.name() == name).ok_or_else(not_there)?;
    let arrived = Rc::clone(arrived);
    let mut builder = RingBufferBuilder::new();
    builder.add(&records, move |bytes| {
        arrived.borrow_mut().extend(read(bytes));
        0
    })?;
    builder.build()
}
