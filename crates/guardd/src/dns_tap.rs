//! DNS answers that pass a device, captured by `bpf/guard/dns.bpf.c`.

use crate::device::Device;
use crate::error::{GuardError, bpf};
use crate::hook::{Attachment, Hook};
use crate::skeleton;
use crate::skeleton::dns::types::guard_answer;
use crate::skeleton::dns::{DnsSkel, DnsSkelBuilder, OpenDnsSkel};
use fairweir_tcp::Direction;
use fairweir_units::During;
use libbpf_rs::{ProgramMut, RingBuffer};
use std::cell::RefCell;
use std::fmt;
use std::mem::offset_of;
use std::os::fd::AsFd;
use std::rc::Rc;

/// Captures DNS answers at a device until the value is dropped.
pub struct DnsTap {
    hooks: [Hook; 2],
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Box<[u8]>>>>,
    _skeleton: DnsSkel<'static>,
}

impl fmt::Debug for DnsTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DnsTap").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

impl DnsTap {
    /// Loads the programs and attaches them to `device`.
    ///
    /// # Errors
    /// If the kernel rejects the programs, or does not support links for devices. (Attachment by filters has room for
    /// only one program of the guard.)
    pub fn open(device: &Device, attachment: Attachment) -> Result<DnsTap, GuardError> {
        let what = || "load the programs for --dns".to_owned();
        let set = |open: &mut OpenDnsSkel<'static>| {
            if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
                constants.guard_link_header = device.link_header;
            }
        };
        let skeleton = skeleton::load(DnsSkelBuilder::default(), set).during(what)?;
        let (ring, arrived) =
            skeleton::ring(&skeleton.maps.guard_answers, |bytes| message(bytes).map(Box::from)).during(what)?;
        if attachment == Attachment::Filter {
            return Err(needs_links());
        }
        let hook = |direction, program: &ProgramMut<'_>| {
            Hook::link(program.as_fd(), device.index, direction)?.ok_or_else(needs_links)
        };
        let progs = &skeleton.progs;
        let hooks =
            [hook(Direction::Outgoing, &progs.guard_dns_egress)?, hook(Direction::Incoming, &progs.guard_dns_ingress)?];
        Ok(DnsTap { hooks, ring, arrived, _skeleton: skeleton })
    }

    /// Returns the messages captured since the last call.
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

/// Returns the message in a `struct guard_answer`, without the padding after it.
fn message(bytes: &[u8]) -> Option<&[u8]> {
    const LENGTH: usize = offset_of!(guard_answer, payload);
    let (length, payload) = bytes.split_first_chunk::<LENGTH>()?;
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
