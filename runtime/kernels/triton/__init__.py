"""Kernels in Triton, for what is bound by memory. Nothing outside this folder imports Triton."""
