"""Whether the tensors of a checkpoint are those that its config asks for, found out before any is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from runtime.errors import CheckpointError
from runtime.models.checkpoint import Checkpoint, Shapes, refuse_shape
from runtime.models.weights import Slot

Wanted = Mapping[Slot, Mapping[str, Shapes]]


def check_tensors(checkpoint: Checkpoint, slots: Collection[Slot]) -> None:
    """Compare the tensors that there are with those that the config asks for.

    Raises:
        CheckpointError: a tensor is missing, has another shape, or has no place in the model. Of a quantised matrix
            the error names the settings that say how it is stored.
    """
    wanted = {slot: checkpoint.stored(slot) for slot in slots}
    known = {name for tensors in wanted.values() for name in tensors}
    extra = sorted(name for name in checkpoint.names if name not in known and not checkpoint.may_ignore(name))
    _check_formats(checkpoint, wanted, extra)
    _check_presence(checkpoint, wanted)
    for slot, tensors in wanted.items():
        for name, shapes in tensors.items():
            if (found := checkpoint.shape(name)) not in shapes:
                refuse_shape(checkpoint.path, name, found, shapes, _of_format(checkpoint, slot, tensors))
    if extra:
        raise CheckpointError(
            f"{checkpoint.path}: tensor {_first(extra)} has no place in the {checkpoint.config.family} model that the "
            f"config describes. The model has a part that is not supported, or the config is another model's."
        )


def _check_formats(checkpoint: Checkpoint, wanted: Wanted, extra: Collection[str]) -> None:
    """Refuse a matrix that comes with tensors of another format. A bias is none of them."""
    matrices = {checkpoint.module(slot): slot for slot in wanted if slot.kind == "matrix"}
    for name in extra:
        module = _module(name, matrices)
        if module is None or name == f"{module}.bias":
            continue
        slot = matrices[module]
        asked = wanted[slot]
        found = sorted(
            each for each in (*asked, *extra) if each in checkpoint.names and _module(each, matrices) == module
        )
        raise CheckpointError(
            f"{checkpoint.path}: {module} is stored as {_kinds(found, module)}, and the config asks for "
            f"{_kinds(asked, module)} ({checkpoint.stated(slot)}). Correct the config, or download the checkpoint "
            "again."
        )


def _check_presence(checkpoint: Checkpoint, wanted: Wanted) -> None:
    missing = {name: slot for slot, tensors in wanted.items() for name in tensors if name not in checkpoint.names}
    if missing:
        slot = next(iter(missing.values()))
        raise CheckpointError(
            f"{checkpoint.path}: tensor {_first(list(missing))} is missing, which the config of this "
            f"{checkpoint.config.family} model asks for{_of_format(checkpoint, slot, wanted[slot])}. "
            "Is the download complete?"
        )


def _module(name: str, known: Collection[str]) -> str | None:
    """The module among those known that a tensor belongs to: what is before its last dot, or its last underscore."""
    candidates = (name.rpartition(mark)[0] for mark in "._")
    return next((module for module in candidates if module in known), None)


def _kinds(names: Collection[str], module: str) -> str:
    return ", ".join(name.removeprefix(module).lstrip("._") for name in names)


def _of_format(checkpoint: Checkpoint, slot: Slot, tensors: Collection[str]) -> str:
    """The settings that ask for a slot's tensors, as they follow in a sentence; none ask for those of plain floats."""
    is_plain = list(tensors) == [checkpoint.module(slot) + slot.suffix]
    return "" if is_plain else f" ({checkpoint.stated(slot)})"


def _first(names: list[str]) -> str:
    return repr(names[0]) if len(names) == 1 else f"{names[0]!r} (one of {len(names)})"
