"""Documents and files: TOML in and out, errors of validation, quantities with units, shipped files, whole writes."""
