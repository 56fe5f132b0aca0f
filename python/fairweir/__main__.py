"""``python -m fairweir`` runs the command ``fairweir``."""

from fairweir.cli.main import run_and_exit

run_and_exit()
