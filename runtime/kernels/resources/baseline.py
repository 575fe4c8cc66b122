"""The committed record of what every kernel variant needs: a JSON file with one line a variant, sorted."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, structs

from runtime.documents import read_document
from runtime.errors import KernelError

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one variant may need.

    Attributes:
        registers, spilled_bytes, shared_bytes, occupancy, tensor_core_instructions: as in `KernelResources`.
        accepted: why it was once allowed to need more than before; empty where it never did.
    """

    registers: int
    spilled_bytes: int
    shared_bytes: int
    occupancy: float
    tensor_core_instructions: int
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """All records of one platform.

    Attributes:
        platform: its name.
        compilers: name -> version of what compiled the kernels when they were recorded.
        records: by the variant's name.
    """

    platform: str
    compilers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    records: Mapping[str, Record] = field(default_factory=lambda: MappingProxyType({}))


class _Entry(Struct, forbid_unknown_fields=True):
    name: str
    registers: int
    spilled_bytes: int
    shared_bytes: int
    occupancy: float
    tensor_core_instructions: int
    accepted: str = ""


class _Stored(Struct, forbid_unknown_fields=True):
    version: Literal[1]
    platform: str
    compilers: dict[str, str]
    kernels: list[_Entry]


def read_baseline(path: Path, platform: str) -> Baseline:
    """The baseline in a file.

    Raises:
        KernelError: the file is not there, cannot be read, is no baseline, or is one of another platform.
    """
    if not path.exists():
        raise KernelError(
            f"{path}: there is no such record of kernels; name another with --baseline, "
            "run this where the repository is checked out, or make a first record with --update"
        )
    remedy = "restore it from version control"
    stored = read_document(path, _Stored, "baseline of kernels in version 1", remedy, KernelError)
    if stored.platform != platform:
        raise KernelError(f"{path} is about {stored.platform!r}, not {platform!r}; name another --baseline")
    names = Counter(entry.name for entry in stored.kernels)
    if twice := [name for name, count in names.items() if count > 1]:
        raise KernelError(f"{path}: names the kernel {twice[0]} twice; {remedy}")
    records = {needs.pop("name"): Record(**needs) for needs in map(structs.asdict, stored.kernels)}
    return Baseline(stored.platform, stored.compilers, records)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline in one step: whoever reads meanwhile sees the old or the new file.

    Raises:
        KernelError: the file cannot be written.
    """
    head = {"version": _VERSION, "platform": baseline.platform, "compilers": dict(baseline.compilers)}
    lines = ",\n".join(json.dumps(_entry(name, record)) for name, record in sorted(baseline.records.items()))
    text = f'{json.dumps(head)[:-1]}, "kernels": [\n{lines}\n]}}\n'
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise KernelError(f"{path} cannot be written: {error.strerror}") from error


def _entry(name: str, record: Record) -> dict[str, object]:
    entry = {"name": name, **asdict(record)}
    if not record.accepted:
        del entry["accepted"]
    return entry
