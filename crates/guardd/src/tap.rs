//! The programs of `bpf/guard/`, attached to a device: they report packets and set windows.

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

/// Counters of the BPF programs since they were loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Packets that were summarized.
    pub summarised: u64,
    /// Summaries dropped because the ring buffer was full.
    pub lost: u64,
    /// Pure ACKs not summarized while the ring buffer was filling.
    pub thinned: u64,
    /// Data packets whose bytes were merged into a later summary because the ring buffer was full.
    pub merged: u64,
    /// ACKs that left with a smaller window; with [`Enforcement::Clamp`], changes of clamps are also counted.
    pub rewritten: u64,
    /// ACKs whose window was not modified because its scale is unknown.
    pub unscaled: u64,
    /// ACKs whose window was not modified because they are signed by TCP-AO or TCP-MD5.
    #[serde(default)]
    pub authenticated: u64,
    /// Data packets dropped because they were beyond the advertised window.
    #[serde(default)]
    pub beyond: u64,
    /// ACKs sent again with a larger window.
    #[serde(default)]
    pub renewed: u64,
}

/// How flows are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// By rewriting the windows in departing ACKs of this host and of hosts behind it. Ends with the process, even
    /// after `kill -9`.
    #[default]
    Rewrite,
    /// By setting `TCP_WINDOW_CLAMP` on this host's sockets, and by rewriting windows until the clamp takes effect.
    /// Forwarded flows are not modified. After `kill -9`, connections keep their last clamp until their buffers grow.
    Clamp,
}

/// The programs, loaded into the kernel but not yet attached to a device.
pub struct Programs {
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Packet>>>,
    waits: RingBuffer<'static>,
    waiting: Rc<RefCell<Vec<(FlowKey, Time)>>>,
    link_header: u32,
    /// An iterator over all sockets; reading it sets the clamps.
    clamps: Option<Link>,
    skeleton: GuardSkel<'static>,
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs").field("clamps", &self.clamps).finish_non_exhaustive()
    }
}

impl Programs {
    /// Loads the programs for the device with index `device` and `link_header` bytes before the IP header.
    ///
    /// # Errors
    /// If the kernel rejects the programs.
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

    /// Passes the packets since the last call to `sink`, without blocking.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn drain(&mut self, mut sink: impl FnMut(&Packet)) -> Result<(), GuardError> {
        self.ring.consume().map_err(bpf).during(|| "read the ring of packets".into())?;
        self.arrived.borrow_mut().drain(..).for_each(|packet| sink(&packet));
        Ok(())
    }

    /// Returns a descriptor that becomes readable when the ring is a quarter full.
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

    /// Returns a descriptor that becomes readable when a sender begins to wait.
    pub fn waits(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor, and the borrow ends before it.
        unsafe { BorrowedFd::borrow_raw(self.waits.epoll_fd()) }
    }

    /// Sends the last ACK of `flow` again if its sender waits for a larger window. The program at the device chooses
    /// the window.
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

    /// Limits `flow`: from its next ACK on, windows move towards `target`. `wscale` is used if the flow has no socket
    /// on this host.
    ///
    /// # Errors
    /// If the kernel's map is full.
    pub fn hold(&self, flow: &FlowKey, target: WindowTarget, wscale: Option<u8>) -> Result<(), GuardError> {
        let (key, value) = (record::flow(flow), record::target(target, wscale));
        let held = self.skeleton.maps.guard_targets.update(key.bytes(), value.bytes(), MapFlags::ANY);
        Ok(held.map_err(bpf).during(|| format!("hold {} > {}", flow.remote(), flow.local()))?)
    }

    /// Releases `flow`: its ACKs advertise the host's own window again.
    ///
    /// # Errors
    /// If the maps cannot be written.
    pub fn release(&self, flow: &FlowKey) -> Result<(), GuardError> {
        let key = record::flow(flow);
        let last_ack = self.last_ack(flow)?;
        // Windows advertised from now on are not tracked as promises.
        let maps = &self.skeleton.maps;
        for map in [&maps.guard_targets, &maps.guard_promises] {
            match map.delete(key.bytes()) {
                Err(e) if e.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Ok(Err(bpf(e)).during(|| format!("release {} > {}", flow.remote(), flow.local()))?);
                }
                _ => {}
            }
        }
        // The sender waits until it receives a larger window, and only this ACK advertises one.
        last_ack.map_or(Ok(()), |frame| self.send(&frame))
    }

    /// Returns the time of the last decision about `flow`'s window by the kernel's clock, with which a test can repeat
    /// the decision.
    #[doc(hidden)]
    pub fn decided_at(&self, flow: &FlowKey) -> Option<Time> {
        let promises = &self.skeleton.maps.guard_promises;
        let found = promises.lookup(record::flow(flow).bytes(), MapFlags::ANY).ok()??;
        record::decided_at(&found)
    }

    /// With [`Enforcement::Clamp`], sets or removes the clamps of sockets in the process's network namespace according
    /// to the targets. To be called repeatedly, because a socket's clamp widens when its buffer grows.
    ///
    /// # Errors
    /// If the kernel refuses the iteration.
    pub fn clamp(&self) -> Result<(), GuardError> {
        let what = || "clamp sockets".to_owned();
        let Some(link) = &self.clamps else { return Ok(()) };
        let mut sockets = Iter::new(link).map_err(bpf).during(what)?;
        // The program produces no output.
        Ok(sockets.read_to_end(&mut Vec::new()).map(|_| ()).during(what)?)
    }

    /// Returns the counters of the BPF programs.
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

    /// Runs the program of `direction` on `frame` (with an Ethernet header) `repeat` times, without sending. Returns
    /// the resulting frame and the time of each run.
    ///
    /// # Errors
    /// If the kernel rejects the frame.
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

/// The programs, attached to a device until the value is dropped; then the hosts' own windows apply again.
#[derive(Debug)]
pub struct Tap {
    // The first field: hooks are removed before the maps, so no packet finds the maps missing.
    hooks: [Hook; 2],
    programs: Programs,
}

impl Tap {
    /// Loads the programs and attaches them to `device`.
    ///
    /// # Errors
    /// If the kernel rejects the programs.
    pub fn open(device: &Device, enforcement: Enforcement, attachment: Attachment) -> Result<Tap, GuardError> {
        let programs = Programs::load(device.index, device.link_header, enforcement)?;
        let hook = |direction| programs.attach(device.index, direction, attachment);
        // Attach departures first, so that a flow's first packets are seen in order.
        let hooks = [hook(Direction::Outgoing)?, hook(Direction::Incoming)?];
        Ok(Tap { hooks, programs })
    }

    /// Returns whether the attachment ends with the process, even if the process is killed.
    pub fn is_linked(&self) -> bool {
        self.hooks.iter().all(Hook::is_link)
    }

    /// Returns the programs.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Returns the programs, for reading packets.
    pub fn programs_mut(&mut self) -> &mut Programs {
        &mut self.programs
    }
}
