"""Style of figures and format of numbers."""
