"""Links that give activations a mean and a scale."""
