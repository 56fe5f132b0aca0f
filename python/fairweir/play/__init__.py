"""Run scenarios: single runs in either world, child processes for users' code, pools, sweeps and batches of runs."""
