"""Style of figures and pages, and formats of numbers."""
