"""A capture explained for people: its flows' paths, what limited them when, figures, a report."""
