"""Computations about Syntra (NSDI 2026), which synthesizes senders of video as decision trees.

They use only the paper's public abstract, its artifact and the thesis.
"""
