"""Arrays in, arrays out: what NumPy and CuPy have no fast function for. No Variable is known here."""
