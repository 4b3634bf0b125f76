"""Compiled parts: kernels in C (`kernels.h`), the module that calls them (`module.c`), and what loads it."""
