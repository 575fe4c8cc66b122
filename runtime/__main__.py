"""`python -m runtime` is `v100`, also in a checkout that is not installed."""

from runtime.cli import main

main()
