"""`python -m runtime` is `v100`."""

from runtime.cli import main

main()
