"""The battery: scenario families, what is measured on them, and what is claimed."""
