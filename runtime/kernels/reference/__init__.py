"""Kernels in plain torch: the oracle for every other one, and what a CPU runs."""
