"""Weighted AIMD as delay-differential equations: what windows rest at or circle on, and how firmly (WCC paper)."""
