"""Kernels: the few loops that need to be fast, each with a slow twin that says what it computes."""
