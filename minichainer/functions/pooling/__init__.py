"""Pooling and unpooling of windows."""
