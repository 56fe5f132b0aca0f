"""Compare the bounds of ``crates/game`` for random windows with z3's on the model's equations, or with a grid of links.

    .venv/bin/python -m benches.game_bounds z3 --windows 500
    .venv/bin/python -m benches.game_bounds grid --windows 2000

This package is a second implementation of the link, its windows and the model, from the model's equations (thesis 2.3
and 4.5) and in exact arithmetic. It shares no code with the Rust implementation.
"""
