"""``python -m minichainer doctor``: versions, the processor and its BLAS, devices, gradients and speed."""
