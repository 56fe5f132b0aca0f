"""The receiver's guard: the daemon that applies a policy to arriving flows."""
