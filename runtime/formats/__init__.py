"""Byte layouts: KV-cache codecs and weight formats."""
