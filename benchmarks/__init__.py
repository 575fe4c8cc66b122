"""Reproducible comparisons; each module that has a `main` runs with `python -m benchmarks.NAME`."""
