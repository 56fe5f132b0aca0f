"""Compare a controller with a reference by throughput-delay envelopes, relative to the reference's own spread."""
