"""Simulate and evaluate video senders frame by frame: generated content, encoder tables, senders, receivers'
metrics.
"""
