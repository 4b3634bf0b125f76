"""Functions that control the graph."""
