//! The objects of `bpf/guard/` as Rust types, which `build.rs` generates from them, and conversions between their
//! records and bytes.

use crate::error::bpf;
use fairweir_kernel::libbpf;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::io;
use std::mem::MaybeUninit;
use std::rc::Rc;

pub(crate) mod guard {
    include!(concat!(env!("OUT_DIR"), "/guard.skel.rs"));
}
pub(crate) mod owners {
    include!(concat!(env!("OUT_DIR"), "/owners.skel.rs"));
}
pub(crate) mod dns {
    include!(concat!(env!("OUT_DIR"), "/dns.skel.rs"));
}

/// Opens an object, calls `set` to choose its constants and programs, and loads it.
///
/// A skeleton borrows its object's handle, which is a pointer, for the skeleton's whole lifetime; the handle is
/// therefore never freed.
pub(crate) fn load<B: SkelBuilder<'static>>(
    builder: B,
    set: impl FnOnce(&mut B::Output),
) -> io::Result<<B::Output as OpenSkel<'static>>::Output> {
    let (skeleton, said) = libbpf::listening(|| {
        let mut open = builder.open(Box::leak(Box::new(MaybeUninit::uninit())))?;
        set(&mut open);
        open.load()
    });
    skeleton.map_err(|e| io::Error::new(bpf(e).kind(), libbpf::gist(&said)))
}

/// Returns a ring buffer, and the list that collects those of its records that `read` accepts.
pub(crate) fn ring<T: 'static>(
    map: &dyn MapCore,
    read: impl Fn(&[u8]) -> Option<T> + 'static,
) -> io::Result<(RingBuffer<'static>, Rc<RefCell<Vec<T>>>)> {
    let arrived = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&arrived);
    let mut builder = RingBufferBuilder::new();
    let added = builder.add(map, move |bytes| {
        sink.borrow_mut().extend(read(bytes));
        0
    });
    added.map_err(bpf)?;
    Ok((builder.build().map_err(bpf)?, arrived))
}

/// A C struct for which any bytes are a valid value, and which has no padding outside its fields.
///
/// # Safety
/// All fields must be integers, arrays of integers, or structs of this kind, and the fields must fill the struct.
pub(crate) unsafe trait Plain: Copy {
    /// Reads the struct from the start of `bytes`; returns `None` if there are too few bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: there are enough bytes, and any bytes are a valid value of a plain type; the read needs no alignment.
        (bytes.len() >= size_of::<Self>()).then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// Returns the bytes of the struct.
    fn bytes(&self) -> &[u8] {
        // SAFETY: a plain type has no uninitialized bytes.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

/// Checks at compile time that `$fields` fill `$plain`.
macro_rules! plain {
    ($($plain:path { $($field:ident: $of:ty),* $(,)? })*) => {
        $(
            const _: () = assert!(size_of::<$plain>() == 0 $(+ size_of::<$of>())*);
            const _: fn($plain) = |value| { let _: ($($of,)*) = ($(value.$field,)*); };
            // SAFETY: the fields are integers, arrays of integers or plain structs, and the sum of their sizes is the
            // struct's size.
            unsafe impl Plain for $plain {}
        )*
    };
}

plain! {
    guard::types::guard_flow { local: [u8; 16], remote: [u8; 16], local_port: u16, remote_port: u16, vlan: u32 }
    guard::types::guard_packet {
        time_ns: u64, flow: guard::types::guard_flow, seq: u32, ack: u32, payload: u32, wire: u32, tsval: u32, tsecr: u32,
        segs: u16, window: u16, flags: u8, wscale: u8, has_timestamps: u8, direction: u8,
    }
    guard::types::guard_target {
        bytes: u32, least: u32, wscale: u32, bytes_per_s: u32, quantum: u32, unused: u32, depth_ns: u64,
    }
    guard::types::guard_promise {
        edge: u32, own: u32, at_ns: u64, paid_ns: u64, ack: u32, scale: u32, is_waiting: u32, unused: u32,
        last: guard::types::guard_ack, __pad_196: [u8; 4],
    }
    guard::types::guard_ack { next_seq: u32, tag: [u16; 2], ip: u16, transport: u16, end: u16, bytes: [u8; 142] }
    guard::types::guard_counts {
        summarised: u64, lost: u64, thinned: u64, merged: u64, rewritten: u64, unscaled: u64, authenticated: u64, beyond: u64,
        renewed: u64, held_until_ns: u64,
    }
    guard::types::guard_wait { flow: guard::types::guard_flow, until_ns: u64 }
    owners::types::guard_flow { local: [u8; 16], remote: [u8; 16], local_port: u16, remote_port: u16, vlan: u32 }
    owners::types::guard_owner { flow: owners::types::guard_flow, pid: u32, comm: [i8; 16], unused: u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::MapType;

    #[test]
    fn maps_are_of_the_kernels_types() {
        let (mut guard, mut dns) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let guard = guard::GuardSkelBuilder::default().open(&mut guard).expect("an object").maps;
        for ring in [&guard.guard_packets, &guard.guard_waits] {
            assert_eq!(ring.map_type(), MapType::RingBuf);
        }
        for map in [&guard.guard_targets, &guard.guard_clamped] {
            assert_eq!(map.map_type(), MapType::Hash);
        }
        for map in [&guard.guard_promises, &guard.guard_held_data] {
            assert_eq!(map.map_type(), MapType::LruHash);
        }
        assert_eq!(guard.guard_no_promise.map_type(), MapType::Array);
        let dns = dns::DnsSkelBuilder::default().open(&mut dns).expect("an object").maps;
        assert_eq!(dns.guard_answers.map_type(), MapType::RingBuf);
        assert_eq!(dns.guard_queries.map_type(), MapType::LruHash);
        assert_eq!(dns.guard_scratch.map_type(), MapType::PercpuArray);
    }

    #[test]
    fn a_struct_is_read_from_as_many_bytes_as_it_has() {
        let wait = guard::types::guard_wait { until_ns: 7, ..Default::default() };
        let bytes = [&[0xff][..], wait.bytes()].concat();
        assert_eq!(guard::types::guard_wait::read(&bytes[1..]).map(|wait| wait.until_ns), Some(7));
        assert!(guard::types::guard_wait::read(&bytes[2..]).is_none());
    }
}
