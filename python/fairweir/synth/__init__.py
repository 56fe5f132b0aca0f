"""Search for congestion control algorithms: ``fairweir synth QUERY.toml`` (docs/formal/synthesis.md)."""
