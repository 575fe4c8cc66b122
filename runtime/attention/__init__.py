"""Attention by declared routes over a paged KV cache."""
