"""Policy gates: findings against committed baselines, and the command line."""
