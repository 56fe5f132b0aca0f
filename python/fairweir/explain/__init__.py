"""Explanation of a capture: its flows' paths, what limited them over time, figures, a report."""
