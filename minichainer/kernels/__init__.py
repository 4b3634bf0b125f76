"""Functions of arrays for what NumPy and CuPy do slowly or not at all. Nothing here uses Variables."""
