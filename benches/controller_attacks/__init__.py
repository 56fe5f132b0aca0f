"""Attacks on proofs of controllers: search for proved claims that a step of ``crates/game`` violates."""
