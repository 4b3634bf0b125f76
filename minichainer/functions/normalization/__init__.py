"""Functions that give arrays a mean and a scale."""
