//! Grouping of flows into services: the flows of a service share its rate.

use super::{Labels, View};
use crate::packet::FlowKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// How flows are grouped into services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// By the sender's address, as published.
    #[default]
    Sender,
    /// By the sender's network: /24 of IPv4, /48 of IPv6.
    Prefix,
    /// By the sender's port: all flows from web servers have port 443.
    RemotePort,
    /// By the local port: for a host that receives uploads.
    LocalPort,
    /// By the sender's DNS name; flows without a name by address.
    Name,
    /// By control group; flows without one by address.
    Cgroup,
    /// By process; flows without one by address.
    Process,
    /// Each flow separately.
    Flow,
    /// All flows together.
    All,
}

/// The name of a service, also in configuration files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// One sender.
    Host(IpAddr),
    /// A sender's network.
    Network(IpAddr, u8),
    /// A port.
    Port(u16),
    /// A DNS name, control group or process.
    Label(Arc<str>),
    /// One flow.
    Flow(FlowKey),
    /// All flows.
    All,
}

const V4_PREFIX: u8 = 24;
const V6_PREFIX: u8 = 48;

fn network(address: IpAddr) -> Service {
    match address {
        IpAddr::V4(v4) => {
            let net = v4.to_bits() & (u32::MAX << (32 - V4_PREFIX));
            Service::Network(Ipv4Addr::from_bits(net).into(), V4_PREFIX)
        }
        IpAddr::V6(v6) => {
            let net = v6.to_bits() & (u128::MAX << (128 - V6_PREFIX));
            Service::Network(Ipv6Addr::from_bits(net).into(), V6_PREFIX)
        }
    }
}

impl Group {
    /// The service that a flow belongs to.
    pub fn service(self, key: &FlowKey, labels: &Labels) -> Service {
        let host = || Service::Host(key.remote().ip());
        let label = |label: &Option<Arc<str>>| label.clone().map_or_else(host, Service::Label);
        match self {
            Group::Sender => host(),
            Group::Prefix => network(key.remote().ip()),
            Group::RemotePort => Service::Port(key.remote().port()),
            Group::LocalPort => Service::Port(key.local().port()),
            Group::Name => label(&labels.name),
            Group::Cgroup => label(&labels.cgroup),
            Group::Process => label(&labels.process),
            Group::Flow => Service::Flow(*key),
            Group::All => Service::All,
        }
    }
}

/// The flow's service, if it has this name or none is required.
pub(crate) fn named(group: Group, name: Option<&str>, view: &View<'_>) -> Option<Service> {
    let service = group.service(view.key, view.labels);
    name.is_none_or(|name| name == service.to_string()).then_some(service)
}

/// Returns the indices in `flows` of the members of each service; flows without a service are excluded.
pub(crate) fn group_by(
    flows: &[View<'_>],
    service: impl Fn(&View<'_>) -> Option<Service>,
) -> BTreeMap<Service, Vec<usize>> {
    let mut services: BTreeMap<Service, Vec<usize>> = BTreeMap::new();
    for (index, view) in flows.iter().enumerate() {
        if let Some(service) = service(view) {
            services.entry(service).or_default().push(index);
        }
    }
    services
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Service::Host(host) => write!(f, "{host}"),
            Service::Network(net, length) => write!(f, "{net}/{length}"),
            Service::Port(port) => write!(f, "port {port}"),
            Service::Label(label) => f.write_str(label),
            Service::Flow(key) => write!(f, "{} > {}", key.remote(), key.local()),
            Service::All => f.write_str("all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_their_names() {
        let key = |remote: &str| FlowKey::new("10.0.0.1:5001".parse().unwrap(), remote.parse().unwrap(), 0);
        let labels = Labels { name: Some("a.example".into()), ..Labels::default() };
        let of = |group: Group, remote: &str| group.service(&key(remote), &labels).to_string();
        assert_eq!(of(Group::Sender, "192.0.2.9:443"), "192.0.2.9");
        assert_eq!(of(Group::Prefix, "192.0.2.9:443"), "192.0.2.0/24");
        assert_eq!(of(Group::Prefix, "[2001:db8:1:2::9]:443"), "2001:db8:1::/48");
        assert_eq!(of(Group::RemotePort, "192.0.2.9:443"), "port 443");
        assert_eq!(of(Group::LocalPort, "192.0.2.9:443"), "port 5001");
        assert_eq!(of(Group::Name, "192.0.2.9:443"), "a.example");
        assert_eq!(of(Group::Process, "192.0.2.9:443"), "192.0.2.9", "no process known");
        assert_eq!(of(Group::Flow, "192.0.2.9:443"), "192.0.2.9:443 > 10.0.0.1:5001");
        assert_eq!(of(Group::All, "192.0.2.9:443"), "all");
    }
}
