//! Video at frame level: encoders as tables, senders, forward error correction, a link of `fairweir-path`, and one definition
//! of delay, quality and frame rate for all senders, taken at the receiver.
