"""Playing scenarios: a run in one of the worlds, child processes for users' code, pools, sweeps and batches of runs."""
