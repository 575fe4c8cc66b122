"""Weight formats: what the bytes of a quantised matrix mean, as checkpoints hold them and as kernels read them."""
