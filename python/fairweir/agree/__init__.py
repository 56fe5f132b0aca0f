"""Compare the simulator with the Linux kernel and with QUIC stacks: run CCAs in the same scenarios in both."""
