"""How figures look and how numbers are written, wherever they are shown."""
