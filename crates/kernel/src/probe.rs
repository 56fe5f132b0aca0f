//! Samples of any TCP flow at each ACK, from the kernel's tracepoint `tcp_probe`. They also cover the kernel's own
//! controllers.

use crate::compile::object_of;
use crate::error::KernelError;
use crate::libbpf;
use crate::records::Records;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenMapMut};
use serde::Serialize;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

const SOURCE: &str = include_str!("../../../bpf/telemetry/tcp_probe.bpf.c");

/// Selects the sampled flows; a field of zero matches any value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeFilter {
    /// Inode number of the network namespace, as `stat -L /proc/PID/ns/net` shows it.
    pub netns: u32,
    /// The sender's port.
    pub local_port: u16,
    /// The receiver's port.
    pub remote_port: u16,
}

/// A flow's state when a segment arrives for it, before the segment is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeSample {
    /// Time of the monotonic clock, ns.
    pub t_ns: u64,
    /// Local address; 0.0.0.0 for IPv6.
    pub local: SocketAddrV4,
    /// Remote address.
    pub remote: SocketAddrV4,
    /// Congestion window, packets.
    pub cwnd_pkts: u32,
    /// Slow-start threshold, packets; 2^31 - 1 stands for infinity.
    pub ssthresh_pkts: u32,
    /// Inflight, packets.
    pub inflight_pkts: u32,
    /// Smoothed RTT, µs.
    pub srtt_us: u32,
    /// Minimum RTT in the kernel's window, µs.
    pub min_rtt_us: u32,
    /// Pacing rate, bytes/s; all bits set if the flow is not paced.
    pub pacing_rate: u64,
    /// Maximum segment size: payload bytes of a full packet.
    pub mss: u32,
    /// Packets delivered since the start.
    pub delivered_pkts: u32,
    /// Packets marked lost since the start.
    pub lost_pkts: u32,
    /// Sequence number of the first unacknowledged byte; wraps.
    pub snd_una: u32,
    /// `enum tcp_ca_state`: open, disorder, CWR, recovery or loss.
    pub ca_state: u32,
}

/// `struct probe_sample`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    time_ns: u64,
    pacing_rate: u64,
    local_ip4: u32,
    remote_ip4: u32,
    local_port: u32,
    remote_port: u32,
    cwnd: u32,
    ssthresh: u32,
    inflight: u32,
    srtt_us: u32,
    min_rtt_us: u32,
    mss: u32,
    delivered: u32,
    lost: u32,
    snd_una: u32,
    ca_state: u32,
}

impl ProbeSample {
    fn of(bytes: &[u8]) -> Option<ProbeSample> {
        if bytes.len() < size_of::<Raw>() {
            return None;
        }
        // SAFETY: there are enough bytes, and any bits are a valid value of this struct of integers.
        let raw = unsafe { bytes.as_ptr().cast::<Raw>().read_unaligned() };
        let at = |ip: u32, port: u32| SocketAddrV4::new(Ipv4Addr::from(ip.to_ne_bytes()), port as u16);
        Some(ProbeSample {
            t_ns: raw.time_ns,
            local: at(raw.local_ip4, raw.local_port),
            remote: at(raw.remote_ip4, raw.remote_port),
            cwnd_pkts: raw.cwnd,
            ssthresh_pkts: raw.ssthresh,
            inflight_pkts: raw.inflight,
            srtt_us: raw.srtt_us,
            min_rtt_us: raw.min_rtt_us,
            pacing_rate: raw.pacing_rate,
            mss: raw.mss,
            delivered_pkts: raw.delivered,
            lost_pkts: raw.lost,
            snd_una: raw.snd_una,
            ca_state: raw.ca_state,
        })
    }
}

/// Samples flows until the value is dropped.
#[derive(Debug)]
pub struct Probe {
    records: Records,
    _link: Link,
    object: Object,
}

impl Probe {
    /// Samples the flows that match `filter`. Each call of [`Probe::drain`] passes the available samples to `sink`.
    ///
    /// # Errors
    /// If clang is missing, or the kernel rejects the program.
    pub fn start(
        filter: ProbeFilter,
        mut sink: impl FnMut(ProbeSample) + Send + 'static,
    ) -> Result<Probe, KernelError> {
        let object = object_of(Path::new("tcp_probe.bpf.c"), SOURCE, false)?;
        let (outcome, said) = libbpf::listening(|| attach(&object, filter));
        let (object, link) = outcome.map_err(|e| KernelError::Refused {
            cca: "tcp_probe".to_owned(),
            reason: format!("{e}\n{}", libbpf::gist(&said)),
            hint: None,
        })?;
        let samples = object.maps().find(|m| m.name() == "probe_samples").ok_or_else(|| KernelError::Missing {
            what: "tcp_probe has no ring buffer".to_owned(),
            hint: "this is a bug: please report it",
        })?;
        let records = Records::of(&samples, move |bytes| {
            if let Some(sample) = ProbeSample::of(bytes) {
                sink(sample);
            }
        })?;
        Ok(Probe { records, _link: link, object })
    }

    /// Processes the samples that have arrived since the last call, without blocking.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn drain(&self) -> Result<(), KernelError> {
        self.records.drain()
    }

    /// Returns the number of samples lost so far because the reader was too slow.
    pub fn lost_samples(&self) -> u64 {
        let bss = self.object.maps().find(|m| m.name().as_encoded_bytes().ends_with(b".bss"));
        let value = bss.and_then(|map| map.lookup(&[0; 4], MapFlags::ANY).ok().flatten());
        value.and_then(|v| v.first_chunk().copied()).map_or(0, u64::from_ne_bytes)
    }
}

fn attach(object: &[u8], filter: ProbeFilter) -> Result<(Object, Link), libbpf_rs::Error> {
    let mut open = ObjectBuilder::default().name("tcp_probe")?.open_memory(object)?;
    let is_constants = |map: &OpenMapMut<'_>| map.name().as_encoded_bytes().ends_with(b".rodata");
    if let Some(mut constants) = open.maps_mut().find(is_constants) {
        // The variables are in the order of their definition in the source.
        let words = [filter.netns, filter.remote_port.into(), filter.local_port.into()];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        constants.set_initial_value(&bytes)?;
    }
    let object = open.load()?;
    let link = object.progs_mut().next().ok_or_else(|| libbpf_rs::Error::from_raw_os_error(2))?.attach()?;
    Ok((object, link))
}
