"""Published experiments, with the published result next to ours."""
