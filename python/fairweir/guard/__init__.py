"""The receiver's side: the daemon that holds arriving flows to a policy."""
