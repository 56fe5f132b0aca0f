//! Addresses of flows. Each flow has its own pair of addresses, which identifies the flow in both directions and
//! selects a route with the flow's metrics.

use std::net::Ipv4Addr;

/// Port on which receivers listen.
pub const PORT: u16 = 5001;

/// Number of addresses used per block of 256.
const PER_BLOCK: usize = 250;
/// Maximum number of flows that have an address.
pub const MAX_FLOWS: usize = 256 * PER_BLOCK;

const SENDERS: [u8; 2] = [10, 77];
const RECEIVERS: [u8; 2] = [10, 78];

/// Returns the sender's address of flow number `flow`.
pub fn sender(flow: usize) -> Ipv4Addr {
    address(SENDERS, flow)
}

/// Returns the receiver's address of flow number `flow`.
pub fn receiver(flow: usize) -> Ipv4Addr {
    address(RECEIVERS, flow)
}

fn address([a, b]: [u8; 2], flow: usize) -> Ipv4Addr {
    assert!(flow < MAX_FLOWS, "flow {flow} has no address");
    Ipv4Addr::new(a, b, (flow / PER_BLOCK) as u8, (flow % PER_BLOCK + 1) as u8)
}

/// Returns the flow between two addresses, in either direction; `None` if no flow has this pair.
pub(crate) fn flow_between(source: [u8; 4], destination: [u8; 4]) -> Option<usize> {
    let [a, b, block, host] = source;
    let ends = [[a, b], [destination[0], destination[1]]];
    let are_ends = ends == [SENDERS, RECEIVERS] || ends == [RECEIVERS, SENDERS];
    let is_pair = [block, host] == [destination[2], destination[3]];
    (are_ends && is_pair && (1..=PER_BLOCK as u8).contains(&host))
        .then(|| usize::from(block) * PER_BLOCK + usize::from(host) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_the_flow_in_both_directions() {
        for flow in [0, 1, 249, 250, 251, 999, MAX_FLOWS - 1] {
            let (s, r) = (sender(flow).octets(), receiver(flow).octets());
            assert_eq!(flow_between(s, r), Some(flow));
            assert_eq!(flow_between(r, s), Some(flow));
            assert_eq!(flow_between(s, s), None);
        }
        assert_eq!(flow_between(sender(0).octets(), receiver(1).octets()), None);
        assert_eq!(flow_between([10, 77, 0, 0], [10, 78, 0, 0]), None);
        assert_eq!(sender(251), Ipv4Addr::new(10, 77, 1, 2));
    }
}
