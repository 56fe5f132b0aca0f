//! The programs of `bpf/guard/`, loaded and attached to a device: a source of packets, and a sink of windows.

use crate::device::Device;
use crate::error::{GuardError, bpf};
use crate::hook::{Attachment, Hook};
use crate::skeleton::guard::types::{bss, guard_counts};
use crate::skeleton::guard::{GuardSkel, GuardSkelBuilder, OpenGuardSkel};
use crate::skeleton::{self, Plain};
use crate::{record, renewal};
use fairweir_guard::{FlowKey, Packet, WindowTarget};
use fairweir_tcp::Direction;
use fairweir_units::{During, Time};
use libbpf_rs::{Iter, Link, MapCore, MapFlags, ProgramInput, ProgramMut, RingBuffer};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt;
use std::io::Read;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

/// Counters of the kernel side since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Packets that were summarized.
    pub summarised: u64,
    /// Summaries dropped because the ring buffer was full.
    pub lost: u64,
    /// Pure ACKs not summarized while the ring buffer was filling.
    pub thinned: u64,
    /// Data merged into a later summary because the ring buffer was full.
    pub merged: u64,
    /// ACKs that left with a smaller window; with [`Enforcement::Clamp`] also changes of clamps.
    pub rewritten: u64,
    /// ACKs whose window was not modified because its scale is unknown.
    pub unscaled: u64,
    /// ACKs whose window was not modified because they are signed by TCP-AO or TCP-MD5.
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
pub struct Programs {
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Packet>>>,
    waits: RingBuffer<'static>,
    waiting: Rc<RefCell<Vec<(FlowKey, Time)>>>,
    link_header: u32,
    /// Iterates over all sockets when it is read.
    clamps: Option<Link>,
    skeleton: GuardSkel<'static>,
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs").field("clamps", &self.clamps).finish_non_exhaustive()
    }
}

impl Programs {
    /// Loads them for the device of number `device`, with `link_header` bytes before the IP header.
    ///
    /// # Errors
    /// If the kernel rejects it.
    pub fn load(device: u32, link_header: u32, enforcement: Enforcement) -> Result<Programs, GuardError> {
        let is_clamping = enforcement == Enforcement::Clamp;
        let set = |open: &mut OpenGuardSkel<'static>| {
            if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
                constants.guard_link_header = link_header;
                constants.guard_clamps = is_clamping.into();
                constants.guard_device = device;
            }
            open.progs.guard_clamp.set_autoload(is_clamping);
        };
        let skeleton = skeleton::load(GuardSkelBuilder::default(), set).during(|| "load guard's programs".into())?;
        let maps = &skeleton.maps;
        let (ring, arrived) =
            skeleton::ring(&maps.guard_packets, record::packet).during(|| "the ring of packets".into())?;
        let (waits, waiting) =
            skeleton::ring(&maps.guard_waits, record::wait).during(|| "the ring of waiting senders".into())?;
        let clamps = is_clamping.then(|| skeleton.progs.guard_clamp.attach());
        let clamps = clamps.transpose().map_err(bpf).during(|| "attach to sockets".into())?;
        Ok(Programs { ring, arrived, waits, waiting, link_header, clamps, skeleton })
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

    /// Returns the flows whose senders have begun to wait for a larger window since the last call, and until when they
    /// wait.
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

    /// Sends the last ACK of `flow` again, if its sender waits for a larger window; the program at the device
    /// decides how large that is.
    ///
    /// # Errors
    /// If the maps cannot be read.
    pub fn renew(&self, flow: &FlowKey) -> Result<(), GuardError> {
        self.last_ack(flow)?.map_or(Ok(()), |frame| self.send(&frame))
    }

    fn last_ack(&self, flow: &FlowKey) -> Result<Option<Vec<u8>>, GuardError> {
        let what = || format!("look up the window promised to {}", flow.remote());
        let promises = &self.skeleton.maps.guard_promises;
        let found = promises.lookup(record::flow(flow).bytes(), MapFlags::ANY).map_err(bpf).during(what)?;
        let last = found.as_deref().and_then(record::promised).filter(|last| last.is_waiting);
        Ok(last.and_then(|last| renewal::frame(&last, self.link_header)))
    }

    fn send(&self, frame: &[u8]) -> Result<(), GuardError> {
        let input = ProgramInput { data_in: Some(frame), repeat: 1, ..ProgramInput::default() };
        self.skeleton.progs.guard_renew.test_run(input).map_err(bpf).during(|| "send an ACK again".into())?;
        Ok(())
    }

    /// From the next ACK of `flow` on, its window leads towards `target`. `wscale` is for flows without a socket here.
    ///
    /// # Errors
    /// If there are too many.
    pub fn hold(&self, flow: &FlowKey, target: WindowTarget, wscale: Option<u8>) -> Result<(), GuardError> {
        let (key, value) = (record::flow(flow), record::target(target, wscale));
        let held = self.skeleton.maps.guard_targets.update(key.bytes(), value.bytes(), MapFlags::ANY);
        Ok(held.map_err(bpf).during(|| format!("hold {} > {}", flow.remote(), flow.local()))?)
    }

    /// The windows of `flow` are its host's own again.
    ///
    /// # Errors
    /// If the maps cannot be written.
    pub fn release(&self, flow: &FlowKey) -> Result<(), GuardError> {
        let key = record::flow(flow);
        let last_ack = self.last_ack(flow)?;
        // Promises from now on are not tracked.
        let maps = &self.skeleton.maps;
        for map in [&maps.guard_targets, &maps.guard_promises] {
            match map.delete(key.bytes()) {
                Err(e) if e.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Ok(Err(bpf(e)).during(|| format!("release {} > {}", flow.remote(), flow.local()))?);
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
        let promises = &self.skeleton.maps.guard_promises;
        let found = promises.lookup(record::flow(flow).bytes(), MapFlags::ANY).ok()??;
        record::decided_at(&found)
    }

    /// With [`Enforcement::Clamp`], clamps or releases the sockets of the process's network namespace according to the
    /// targets; to be called repeatedly, as a growing buffer widens its clamp.
    ///
    /// # Errors
    /// If the kernel rejects it.
    pub fn clamp(&self) -> Result<(), GuardError> {
        let what = || "clamp sockets".to_owned();
        let Some(link) = &self.clamps else { return Ok(()) };
        let mut sockets = Iter::new(link).map_err(bpf).during(what)?;
        // The program writes nothing.
        Ok(sockets.read_to_end(&mut Vec::new()).map(|_| ()).during(what)?)
    }

    /// Counters of the kernel side.
    pub fn counts(&self) -> KernelCounts {
        let bytes = self.skeleton.maps.bss.lookup(&[0; 4], MapFlags::ANY).ok().flatten().unwrap_or_default();
        let counts = bytes.get(offset_of!(bss, guard_state)..).and_then(guard_counts::read).unwrap_or_default();
        KernelCounts {
            summarised: counts.summarised,
            lost: counts.lost,
            thinned: counts.thinned,
            merged: counts.merged,
            rewritten: counts.rewritten,
            unscaled: counts.unscaled,
            authenticated: counts.authenticated,
            beyond: counts.beyond,
            renewed: counts.renewed,
        }
    }

    /// Runs the program of `direction` on `frame` (with an Ethernet header), `repeat` times, without sending; also
    /// returns the time of each run.
    ///
    /// # Errors
    /// If the kernel refuses the frame.
    pub fn rehearse(&self, direction: Direction, frame: &[u8], repeat: u32) -> Result<(Vec<u8>, Duration), GuardError> {
        let mut out = vec![0; frame.len()];
        let input = ProgramInput { data_in: Some(frame), data_out: Some(&mut out), repeat, ..ProgramInput::default() };
        let output =
            self.program(direction).test_run(input).map_err(bpf).during(|| format!("rehearse {direction:?}"))?;
        let duration = output.duration;
        Ok((out, duration))
    }

    fn attach(&self, device: u32, direction: Direction, attachment: Attachment) -> Result<Hook, GuardError> {
        Hook::attach(self.program(direction).as_fd(), device, direction, attachment)
    }

    fn program(&self, direction: Direction) -> &ProgramMut<'static> {
        match direction {
            Direction::Incoming => &self.skeleton.progs.guard_ingress,
            Direction::Outgoing => &self.skeleton.progs.guard_egress,
        }
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
    /// # Errors
    /// If the kernel rejects it.
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
