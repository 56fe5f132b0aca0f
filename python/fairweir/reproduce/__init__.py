"""Published experiments, with the published outcome beside ours."""
