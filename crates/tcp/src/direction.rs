//! The direction of a packet, and the side at which it is captured.

/// Direction of a packet, as seen by the observed host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the remote host to this one.
    Incoming,
    /// From this host to the remote one.
    Outgoing,
}

/// Side of the network at which packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At the sender of the data.
    Sender,
    /// At the receiver of the data.
    Receiver,
}
