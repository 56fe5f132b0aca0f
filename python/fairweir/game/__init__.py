"""Decision synthesis (Syntra, thesis section 4.5): decision trees over beliefs are synthesized, proved and
explained.
"""
