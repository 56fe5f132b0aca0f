"""Scenarios: the model of the files, links and elements, overrides, resolution to the simulator's units, dumbbells."""
