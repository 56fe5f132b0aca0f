"""Certificates: proofs as text that linear constraints contradict each other, and a checker of these proofs.

The checker shares no code with the modules that find certificates.
"""
