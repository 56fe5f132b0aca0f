"""Syntra, NSDI 2026: what its public abstract, its artifact and the thesis say of it."""
