"""Search for congestion control algorithms that satisfy given requirements: ``fairweir synth QUERY.toml``.

docs/formal/synthesis.md describes the search.
"""
