"""What compiled kernels need of a chip, and whether they may need it."""
