"""Compare the simulator with the kernel: a matrix of controllers and scenarios, run in both worlds."""
