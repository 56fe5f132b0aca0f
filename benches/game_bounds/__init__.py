"""Compare the bounds of ``crates/game`` with z3 on the model's equations, and with a grid of links, for random windows.

    .venv/bin/python -m benches.game_bounds z3 --windows 500
    .venv/bin/python -m benches.game_bounds grid --windows 2000

The link, its windows and the model are written here a second time, from the model's equations (thesis 2.3 and 4.5), in
exact arithmetic. Nothing is shared with the Rust code.
"""
