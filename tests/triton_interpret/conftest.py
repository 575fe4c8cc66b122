"""Tests of Triton kernels in Triton's interpreter: a process of their own, for the interpreter replaces the compiler.

    TRITON_INTERPRET=1 pytest tests/triton_interpret

Any other run passes them by.
"""

from __future__ import annotations

import os

_INTERPRETS = os.environ.get("TRITON_INTERPRET") == "1"

collect_ignore_glob = [] if _INTERPRETS else ["test_*.py"]
