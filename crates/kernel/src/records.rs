//! Reader of a ring buffer.

use crate::error::KernelError;
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};

/// Records from the kernel. The BPF programs do not wake the reader, so call [`Records::drain`] about every 20 ms.
#[derive(Debug)]
pub struct Records {
    ring: RingBuffer<'static>,
}

impl Records {
    pub(crate) fn of(map: &dyn MapCore, mut sink: impl FnMut(&[u8]) + Send + 'static) -> Result<Records, KernelError> {
        let mut builder = RingBufferBuilder::new();
        let what = || "the ring buffer of records".to_owned();
        builder
            .add(map, move |record: &[u8]| {
                sink(record);
                0
            })
            .map_err(KernelError::bpf(what()))?;
        Ok(Records { ring: builder.build().map_err(KernelError::bpf(what()))? })
    }

    /// Processes the records that have arrived since the last call, without blocking.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn drain(&self) -> Result<(), KernelError> {
        self.ring.consume().map_err(KernelError::bpf("the ring buffer of records"))
    }
}
