"""KV-cache codecs: how keys and values are stored, and what is read back."""
