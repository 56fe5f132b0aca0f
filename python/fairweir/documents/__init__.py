"""Read, write and validate documents and files: TOML, quantities with units, shipped files, and stores of results."""
