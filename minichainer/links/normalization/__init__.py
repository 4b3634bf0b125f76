"""Links that normalize mean and scale of activations."""
