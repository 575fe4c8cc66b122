"""Operators that torch's own kernels run."""
