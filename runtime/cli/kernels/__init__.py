"""`v100 kernels`: what the compiled kernels are, need and move. None of it needs a GPU."""

from __future__ import annotations

import click

from runtime.cli.lazy import LazyGroup

_COMMANDS = {
    "build": "runtime.cli.kernels.build",
    "check": "runtime.cli.kernels.check",
    "roofline": "runtime.cli.kernels.roofline",
}


@click.group(
    "kernels",
    cls=LazyGroup,
    modules=_COMMANDS,
    short_help="Compile the kernels without a GPU; say what a step moves.",
)
def command() -> None:
    """Compile the GPU's kernels without one, and say what the steps of a model cost at least."""
