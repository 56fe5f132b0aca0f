//! The handshake of connections whose encryption does nothing: TLS 1.3's in shape, one flight in either direction, then the
//! client's confirmation. The endpoints exchange their transport parameters and nothing else.

/// The next message of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The transport parameters.
    Hello,
    /// Nothing; it changes to the handshake's keys.
    Keys,
    /// The confirmation.
    Finished,
    Done,
}

/// One side's handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    is_client: bool,
    step: Step,
    /// Its transport parameters, after their length in two bytes.
    hello: Vec<u8>,
    /// Received and not yet understood.
    unread: Vec<u8>,
    has_peer: bool,
}

impl Handshake {
    /// Begins the handshake of a side with these encoded transport parameters.
    pub(crate) fn start(is_client: bool, parameters: &[u8]) -> Handshake {
        let mut hello = (parameters.len() as u16).to_be_bytes().to_vec();
        hello.extend_from_slice(parameters);
        Handshake { is_client, step: Step::Hello, hello, unread: Vec::new(), has_peer: false }
    }

    /// Returns whether the handshake is not complete: the server waits for the client's confirmation.
    pub(crate) fn is_running(&self) -> bool {
        self.step != Step::Done || (!self.is_client && self.unread.is_empty())
    }

    /// Processes a message; returns the peer's encoded transport parameters, once, when they are complete.
    pub(crate) fn read(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        self.unread.extend_from_slice(message);
        let (length, rest) = self.unread.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        if self.has_peer || rest.len() < length {
            return None;
        }
        self.has_peer = true;
        let parameters = rest[..length].to_vec();
        self.unread.drain(..2 + length);
        Some(parameters)
    }

    /// Adds the next message to `message`; returns whether the side changes its keys after it.
    pub(crate) fn write(&mut self, message: &mut Vec<u8>) -> bool {
        match self.step {
            Step::Hello if self.is_client => {
                message.extend_from_slice(&self.hello);
                self.step = Step::Keys;
                false
            }
            Step::Hello if self.has_peer => {
                message.extend_from_slice(&self.hello);
                self.step = Step::Finished;
                true
            }
            Step::Keys if self.has_peer => {
                self.step = Step::Finished;
                true
            }
            Step::Finished => {
                message.extend_from_slice(b"finished");
                self.step = Step::Done;
                true
            }
            Step::Hello | Step::Keys | Step::Done => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_learn_the_peers_parameters_and_finish() {
        let (mut client, mut server) = (Handshake::start(true, b"client"), Handshake::start(false, b"server"));
        let mut message = Vec::new();
        assert!(!client.write(&mut message), "the client changes keys when it knows the server's parameters");
        // in two parts, as a message that does not fit a datagram
        let (first, second) = message.split_at(3);
        assert_eq!(server.read(first), None);
        assert_eq!(server.read(second).as_deref(), Some(b"client".as_slice()));
        let mut answer = Vec::new();
        assert!(server.write(&mut answer));
        assert_eq!(client.read(&answer).as_deref(), Some(b"server".as_slice()));
        assert!(client.write(&mut Vec::new()) && server.write(&mut Vec::new()));
        let mut confirmation = Vec::new();
        assert!(client.write(&mut confirmation) && !client.is_running());
        assert!(server.is_running());
        assert_eq!(server.read(&confirmation), None);
        assert!(!server.is_running());
    }
}
