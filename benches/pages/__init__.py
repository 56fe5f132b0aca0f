"""The pages of the documentation that commands generate: ``make results``."""
