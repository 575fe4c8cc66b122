"""Types of the fixtures that run the command; a conftest cannot be imported, for every folder may have one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from click.testing import Result

V100 = Callable[..., Result]
Python = Callable[..., subprocess.CompletedProcess[str]]
