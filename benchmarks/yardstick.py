"""What it costs Python itself to read a tree: `python yardstick.py DIR` parses every .py file below DIR."""

import ast
import sys
import warnings
from pathlib import Path


def main(tree: Path) -> None:
    warnings.simplefilter("ignore", SyntaxWarning)
    for file in tree.rglob("*.py"):
        try:
            ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            continue


if __name__ == "__main__":
    main(Path(sys.argv[1]))
