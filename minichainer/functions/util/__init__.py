"""Functions about the graph itself."""
