"""Scenarios: read and validate scenario files, change values, and convert them to the simulator's units."""
