"""Lemmas as objects: states, transitions, progress, and the check that they fit together."""
