"""Links that compute a loss."""
