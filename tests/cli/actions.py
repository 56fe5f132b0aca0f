def action(rate: float, s: float) -> float:
    """Return the change of the rate for a rate and a delay `s` (an action map)."""
    return 1.0 - rate / 100.0 - s / 40.0
