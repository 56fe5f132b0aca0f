"""Compare the simulator with the Linux kernel: run CCAs in a set of scenarios in both, and compare the results."""
