"""The command line: ``fairweir COMMAND``; :mod:`fairweir.cli.main` is the program."""
