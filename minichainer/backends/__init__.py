"""Where arrays live: the CPU (NumPy) and GPUs (CuPy). The public face is :mod:`minichainer.backend`."""
