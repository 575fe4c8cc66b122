"""`v100 kernels build`: compile the CUDA operators ahead, for machines that cannot or should not."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import track


@click.command("build", short_help="Compile the CUDA operators into a folder.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the binary; an earlier binary there is replaced when all is compiled.",
)
def command(output: Path) -> None:
    """Compile the CUDA operators for sm_70 with NVRTC, into a folder of cubins with a manifest. Needs no GPU.

    `--set kernels.binary=FOLDER` runs them. A binary of another ABI, of other sources or with a damaged file is refused
    when the engine starts.
    """
    # Only here: kernels need torch, and --help does not.
    from runtime.native.binary import MANIFEST, build, cuda_variants
    from runtime.native.probes import CAPABILITY

    variants = list(cuda_variants())
    console = Console(stderr=True)
    build(output, CAPABILITY, track(variants, "compiling", console=console, disable=not console.is_terminal))
    click.echo(f"{len(variants)} kernels in {output}; {MANIFEST} says what they were built from")
