"""Devices for arrays: the CPU (NumPy) and GPUs (CuPy). The public interface is :mod:`minichainer.backend`."""
