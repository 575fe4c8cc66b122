"""Kernels: the operators' inner loops, one folder for each way to write them, all with the same signatures."""
