"""Automatic differentiation by the names of torch's package ``torch.autograd``."""
