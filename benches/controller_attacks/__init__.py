"""Attacks on proofs of controllers: is a claim ever proved that a step of ``crates/game`` breaks?"""
