"""Conformance of a controller to a reference: throughput-delay envelopes, compared with the reference's own spread."""
