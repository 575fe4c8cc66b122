"""`python -m gates`."""

from gates.cli import main

if __name__ == "__main__":
    main()
