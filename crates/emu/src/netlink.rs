//! Addresses, routes and link settings in the calling thread's network namespace, set by netlink.

use crate::EmuError;
use fairweir_units::During;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// Metrics of a route, which apply to connections over it. `None` leaves the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// Initial congestion window, packets.
    pub(crate) initcwnd: Option<u32>,
    /// Minimum retransmission timeout, ms.
    pub(crate) rto_min_ms: Option<u32>,
    /// Maximum advertised window, bytes.
    pub(crate) window: Option<u32>,
    /// Initial advertised window, packets.
    pub(crate) initrwnd: Option<u32>,
    /// Whether every packet is acknowledged at once.
    pub(crate) quickack: bool,
    /// Whether connections request and accept ECN.
    pub(crate) ecn: bool,
}

/// `RTAX_RTO_MIN`, a metric that the kernel applies only if it is locked.
const RTO_MIN: u32 = 13;
/// `RTAX_FEATURE_ECN`.
const FEATURE_ECN: u32 = 1;

impl Metrics {
    fn attributes(self) -> Vec<RouteMetric> {
        let mut metrics = Vec::new();
        metrics.extend(self.initcwnd.map(RouteMetric::InitCwnd));
        if let Some(ms) = self.rto_min_ms {
            metrics.extend([RouteMetric::Lock(1 << RTO_MIN), RouteMetric::RtoMin(ms)]);
        }
        metrics.extend(self.window.map(RouteMetric::Window));
        metrics.extend(self.initrwnd.map(RouteMetric::InitRwnd));
        metrics.extend(self.quickack.then_some(RouteMetric::QuickAck(1)));
        metrics.extend(self.ecn.then_some(RouteMetric::Features(FEATURE_ECN)));
        metrics
    }
}

/// Settings of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkSettings {
    /// Maximum packet size, bytes.
    pub(crate) mtu: u32,
    /// Maximum number of packets that may wait for the emulator.
    pub(crate) txqueuelen: u32,
    /// Maximum number of packets that TCP passes down in one buffer.
    pub(crate) gso_max_segs: u32,
}

/// A netlink socket in the calling thread's network namespace.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    pub(crate) fn open() -> Result<Netlink, EmuError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        Ok(Netlink { socket: open().during(|| "open a netlink socket".into())?, sequence: 0 })
    }

    pub(crate) fn set_up(&mut self, link: &str) -> Result<(), EmuError> {
        let message = up(index_of(link)?);
        Ok(self.request(RouteNetlinkMessage::SetLink(message), 0).during(|| format!("bring up {link}"))?)
    }

    /// Sets the link's parameters and then activates the link, because the queue's length takes effect when the queue
    /// is created.
    pub(crate) fn configure(&mut self, link: &str, settings: LinkSettings) -> Result<(), EmuError> {
        let index = index_of(link)?;
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.extend([
            LinkAttribute::Mtu(settings.mtu),
            LinkAttribute::TxQueueLen(settings.txqueuelen),
            LinkAttribute::GsoMaxSegs(settings.gso_max_segs),
        ]);
        self.request(RouteNetlinkMessage::SetLink(message), 0).during(|| format!("set up {link}"))?;
        self.set_up(link)
    }

    pub(crate) fn add_address(&mut self, link: &str, address: Ipv4Addr) -> Result<(), EmuError> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = 32;
        message.header.index = index_of(link)?;
        let address = IpAddr::V4(address);
        message.attributes.extend([AddressAttribute::Local(address), AddressAttribute::Address(address)]);
        Ok(self
            .request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
            .during(|| format!("add address {address} to {link}"))?)
    }

    /// Adds a route to one host, with source address `source`.
    pub(crate) fn add_route(
        &mut self,
        link: &str,
        destination: Ipv4Addr,
        source: Ipv4Addr,
        metrics: Metrics,
    ) -> Result<(), EmuError> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: AddressFamily::Inet,
            destination_prefix_length: 32,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Link,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes.extend([
            RouteAttribute::Destination(RouteAddress::Inet(destination)),
            RouteAttribute::PrefSource(RouteAddress::Inet(source)),
            RouteAttribute::Oif(index_of(link)?),
        ]);
        let metrics = metrics.attributes();
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        Ok(self
            .request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
            .during(|| format!("add a route to {destination}"))?)
    }

    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut buffer = vec![0; packet.buffer_len()];
        packet.serialize(&mut buffer);
        self.socket.send(&buffer, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::Error(_) => Ok(()),
            other => Err(io::Error::other(format!("unexpected answer {other:?}"))),
        }
    }
}

fn index_of(link: &str) -> Result<u32, EmuError> {
    Ok(if_nametoindex(link).during(|| format!("look for the device {link}"))?)
}

fn up(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message
}
