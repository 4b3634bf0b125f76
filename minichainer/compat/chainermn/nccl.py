"""NCCL, which is not used by one process: programs ask whether it is available."""

_available = False
