def action(rate: float, s: float) -> float:
    """Return the change of a rate by which `rate` and the delay `s` balance (an action map)."""
    return 1.0 - rate / 100.0 - s / 40.0
