"""Scenarios: models of the files, links and elements; overrides; conversion to the simulator's units; dumbbells."""
