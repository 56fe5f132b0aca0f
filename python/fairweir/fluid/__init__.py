"""Weighted AIMD flows as delay-differential equations: fixed points, limit cycles and their stability (WCC paper)."""
