"""Weighted AIMD as delay-differential equations: fixed points, limit cycles and their stability (WCC paper)."""
