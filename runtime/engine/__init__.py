"""Requests in, text out: scheduling, paged blocks, sampling."""
