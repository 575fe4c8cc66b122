"""Observed dispatch: which operators ran while a trace was on, with what, under which settings and from which binary.

The format is documented in docs/native.md, and `gates evidence` reads it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import Token
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from runtime.kernels.observing import OBSERVER, Observer
from runtime.native.schemas import NAMESPACE, find_operator

KIND = "observed-dispatch"
VERSION = 1

_Options = tuple[tuple[str, str], ...]
_Call = tuple[str, tuple[tuple[int, ...], ...], tuple[str, ...], _Options]
"""A name, the shapes and the dtypes of tensors, and what else is told by name."""


def is_traced() -> bool:
    """Whether a trace of this thread is on: native operators are then called through torch, where it sees them."""
    return OBSERVER.get() is not None


class NativeDispatchTrace(TorchDispatchMode):
    """Records what this thread runs within a `with` block: operators, torch's own included, and kernels.

    Equal calls are counted and not repeated. Of what an operator does inside, only its launches are recorded.
    Where no trace is on, nothing of this runs but a look at `OBSERVER`.
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
        self._operators: Counter[_Call] = Counter()
        self._kernels: Counter[_Call] = Counter()
        self._token: Token[Observer | None] | None = None

    def __enter__(self) -> NativeDispatchTrace:
        self._token = OBSERVER.set(self._launched)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)  # type: ignore[no-untyped-call]
        if self._token is not None:
            OBSERVER.reset(self._token)
            self._token = None

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        options = kwargs or {}
        name = _operator(func)
        self._operators[_call(name, (*args, *options.values()), _options(name, args, options))] += 1
        return func(*args, **options)

    def _launched(self, variant: str, arguments: Sequence[object]) -> None:
        """An `Observer`."""
        self._kernels[_call(variant, arguments)] += 1

    def document(self) -> dict[str, object]:
        """What was observed so far, as JSON can hold it; operators in the order of their first call."""
        return {
            "kind": KIND,
            "version": VERSION,
            "machine": self._machine,
            "configuration": self._configuration,
            "binary": self._binary,
            "operators": _rows(self._operators),
            "kernels": _rows(self._kernels),
        }

    def write(self, path: Path) -> None:
        """Write the document: one operator or kernel a line. Raises OSError."""
        document = self.document()
        tables = {name: document.pop(name) for name in ("operators", "kernels")}
        head = json.dumps(document, indent=2).removesuffix("\n}")
        lists = ",\n".join(f'  "{name}": {_list(rows)}' for name, rows in tables.items())
        path.write_text(f"{head},\n{lists}\n}}\n", encoding="utf-8")


def _call(name: str, arguments: Sequence[object], options: _Options = ()) -> _Call:
    tensors = list(_tensors(arguments))
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    return name, shapes, tuple(str(tensor.dtype).removeprefix("torch.") for tensor in tensors), options


def _options(operator: str, args: Sequence[object], kwargs: Mapping[str, object]) -> _Options:
    """What a native operator is told by name: the format of a weight, the codec of a cache, an activation."""
    namespace, _, name = operator.partition("::")
    if namespace != NAMESPACE:
        return ()
    named = {**dict(zip(find_operator(name).parameter_names, args, strict=False)), **kwargs}
    return tuple((key, value) for key, value in named.items() if isinstance(value, str))


def _rows(calls: Mapping[_Call, int]) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "shapes": [*map(list, shapes)],
            "dtypes": list(dtypes),
            **({"options": dict(options)} if options else {}),
            "count": count,
        }
        for (name, shapes, dtypes, options), count in calls.items()
    ]


def _list(rows: object) -> str:
    assert isinstance(rows, list)
    return "[" + ",".join(f"\n    {json.dumps(row)}" for row in rows) + ("\n  ]" if rows else "]")


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
