"""The package ``torch.autograd`` on this tape."""
