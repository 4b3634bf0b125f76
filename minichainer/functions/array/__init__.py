"""Functions on the shape and order of arrays."""
