"""Policy gates: findings against committed baselines, and the command line."""

__version__ = "0.1.0"
