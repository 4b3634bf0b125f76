"""How one parameter is updated, and how many are updated at once."""
