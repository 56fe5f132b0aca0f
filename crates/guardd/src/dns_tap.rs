//! DNS answers that pass a device, from `bpf/guard/dns.bpf.c`.

use crate::device::Device;
use crate::error::{During, GuardError, bpf};
use crate::hook::{Attachment, Hook};
use fairweir_kernel::libbpf;
use fairweir_tcp::Direction;
use libbpf_rs::{MapCore, Object, ObjectBuilder, OpenMapMut, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dns.bpf.o"));
/// `guard_answer.length`.
const LENGTH_BYTES: usize = 4;

/// Captures answers at a device until it is dropped.
#[derive(Debug)]
pub struct DnsTap {
    _hooks: [Hook; 2],
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Box<[u8]>>>>,
    _object: Object,
}

impl DnsTap {
    /// Loads the programs and attaches them to `device`.
    ///
    /// # Errors If the kernel rejects it, or supports filters only: there is room for one of ours.
    pub fn open(device: &Device, attachment: Attachment) -> Result<DnsTap, GuardError> {
        let what = || "load the programs for --dns".to_owned();
        let (object, said) = libbpf::listening(|| load(device.link_header));
        let object = object.map_err(|e| io::Error::new(bpf(e).kind(), libbpf::gist(&said))).during(what)?;
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let ring = ring_of(&object, &arrived).map_err(bpf).during(what)?;
        if attachment == Attachment::Filter {
            return Err(needs_links());
        }
        let hook = |direction, name: &str| {
            let program = object.progs().find(|program| program.name() == name);
            let program = program.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)).during(what)?;
            Hook::link(program.as_fd(), device.index, direction)?.ok_or_else(needs_links)
        };
        let hooks = [hook(Direction::Outgoing, "guard_dns_egress")?, hook(Direction::Incoming, "guard_dns_ingress")?];
        Ok(DnsTap { _hooks: hooks, ring, arrived, _object: object })
    }

    /// The messages that have passed since the last call.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub(crate) fn drain(&mut self) -> Result<Vec<Box<[u8]>>, GuardError> {
        self.ring.consume().map_err(bpf).during(|| "read the ring of DNS answers".into())?;
        Ok(self.arrived.take())
    }
}

fn needs_links() -> GuardError {
    GuardError::refused("--dns needs links to a device, which Linux has since 6.6", "--hosts FILE names senders too")
}

fn load(link_header: u32) -> libbpf_rs::Result<Object> {
    let mut open = ObjectBuilder::default().name("guard_dns")?.open_memory(OBJECT)?;
    let is_constants = |map: &OpenMapMut<'_>| map.name().as_encoded_bytes().ends_with(b".rodata");
    if let Some(mut constants) = open.maps_mut().find(is_constants) {
        constants.set_initial_value(&link_header.to_ne_bytes())?;
    }
    open.load()
}

fn ring_of(object: &Object, arrived: &Rc<RefCell<Vec<Box<[u8]>>>>) -> libbpf_rs::Result<RingBuffer<'static>> {
    let not_there = || libbpf_rs::Error::from(io::Error::from(io::ErrorKind::NotFound));
    let answers = object.maps().find(|map| map.name() == "guard_answers").ok_or_else(not_there)?;
    let arrived = Rc::clone(arrived);
    let mut builder = RingBufferBuilder::new();
    builder.add(&answers, move |bytes| {
        arrived.borrow_mut().extend(message(bytes).map(Box::from));
        0
    })?;
    builder.build()
}

/// `struct guard_answer` without the bytes after its length.
fn message(bytes: &[u8]) -> Option<&[u8]> {
    let (length, payload) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    payload.get(..u32::from_ne_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_longer_than_its_record_is_rejected() {
        let record = [2u32.to_ne_bytes().as_slice(), &[7, 8, 9]].concat();
        assert_eq!(message(&record), Some([7, 8].as_slice()));
        assert_eq!(message(&record[..5]), None);
        assert_eq!(message(&record[..3]), None);
    }
}
