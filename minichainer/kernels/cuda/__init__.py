"""Kernels of our own for CUDA devices, in C++: their declarations, and what makes sources from formulas."""
