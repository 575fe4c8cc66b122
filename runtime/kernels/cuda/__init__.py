"""Kernels in CUDA C++, compiled when they are first needed."""
