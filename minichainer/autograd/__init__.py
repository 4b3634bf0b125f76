"""Automatic differentiation with the names of ``torch.autograd``."""
