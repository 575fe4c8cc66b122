"""Observed dispatch: which operators ran while a trace was on, with what, under which settings and from which binary.

The format is documented in docs/native.md, and `gates evidence` reads it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

KIND = "observed-dispatch"
VERSION = 1

_traced: ContextVar[bool] = ContextVar("native dispatch is traced", default=False)


def is_traced() -> bool:
    """Whether a trace of this thread is on: native operators are then called through torch, where it sees them."""
    return _traced.get()


class NativeDispatchTrace(TorchDispatchMode):
    """Records every operator that this thread calls within a `with` block, torch's own ones included.

    Equal calls are counted and not repeated. What an operator does inside is not recorded. Where no trace is on,
    nothing of this runs but `is_traced`.
    """

    def __init__(
        self,
        *,
        platform: str,
        device: str,
        configuration: str,
        binary: Mapping[str, object],
        interpreted: bool = False,
    ) -> None:
        """Describe the run.

        Args:
            platform: its name.
            device: of torch, such as "cuda:0"; the trace names the card.
            configuration: the hash of the settings.
            binary: identity of the compiled operators, as `NativeKernels` has it.
            interpreted: whether Triton's kernels run in its interpreter.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self._machine = {"device": _name(device), "platform": platform, "interpreted": interpreted}
        self._configuration = configuration
        self._binary = dict(binary)
        self._calls: Counter[tuple[str, tuple[tuple[int, ...], ...], tuple[str, ...]]] = Counter()
        self._token: Token[bool] | None = None

    def __enter__(self) -> NativeDispatchTrace:
        self._token = _traced.set(True)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)  # type: ignore[no-untyped-call]
        if self._token is not None:
            _traced.reset(self._token)
            self._token = None

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        tensors = [*_tensors(args), *_tensors((kwargs or {}).values())]
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        dtypes = tuple(str(tensor.dtype).removeprefix("torch.") for tensor in tensors)
        self._calls[_operator(func), shapes, dtypes] += 1
        return func(*args, **(kwargs or {}))

    def document(self) -> dict[str, object]:
        """What was observed so far, as JSON can hold it; operators in the order of their first call."""
        return {
            "kind": KIND,
            "version": VERSION,
            "machine": self._machine,
            "configuration": self._configuration,
            "binary": self._binary,
            "operators": [
                {"name": name, "shapes": [*map(list, shapes)], "dtypes": list(dtypes), "count": count}
                for (name, shapes, dtypes), count in self._calls.items()
            ],
        }

    def write(self, path: Path) -> None:
        """Write the document: one operator a line. Raises OSError."""
        document = self.document()
        operators = document.pop("operators")
        assert isinstance(operators, list)
        head = json.dumps(document, indent=2).removesuffix("\n}")
        rows = ",\n".join(f"    {json.dumps(row)}" for row in operators)
        path.write_text(f'{head},\n  "operators": [\n{rows}\n  ]\n}}\n', encoding="utf-8")


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _operator(func: Callable[..., object]) -> str:
    """Without the overload: "aten::mm"."""
    return "::".join(str(func).split(".")[:2])


def _name(device: str) -> str:
    """What evidence calls a device: the card's own name."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device
