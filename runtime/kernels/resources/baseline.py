"""The committed record of what every kernel variant needs: a JSON file with one line a variant, sorted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

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


def read_baseline(path: Path, platform: str) -> Baseline:
    """The baseline in a file; an empty one where there is no file.

    Raises:
        KernelError: the file cannot be read, is no baseline, or is one of another platform.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Baseline(platform)
    except (OSError, UnicodeDecodeError) as error:
        raise KernelError(f"{path} cannot be read: {error}") from error
    try:
        content = json.loads(text)
        records = {entry.pop("name"): Record(**entry) for entry in content["kernels"]}
        baseline = Baseline(content["platform"], content["compilers"], records)
        known = content["version"] == _VERSION and len(records) == len(content["kernels"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise KernelError(f"{path} is no baseline of kernels ({error}); restore it from version control") from error
    if not known:
        raise KernelError(f"{path} has another version or names a kernel twice; restore it from version control")
    if baseline.platform != platform:
        raise KernelError(f"{path} is about {baseline.platform!r}, not {platform!r}; name another --baseline")
    return baseline


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
