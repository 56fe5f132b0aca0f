"""Documents and files: reading and writing TOML, validation errors, quantities with units, shipped files, stores."""
