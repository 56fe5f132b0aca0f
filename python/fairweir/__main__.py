"""``python -m fairweir`` is ``fairweir``."""

from fairweir.cli.main import run_and_exit

run_and_exit()
