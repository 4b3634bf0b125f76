"""Links of transformers."""
