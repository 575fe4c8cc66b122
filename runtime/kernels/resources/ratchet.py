"""Holds what kernels need against the limits of the chip, and against the record of what they needed before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from runtime.errors import CompilationError
from runtime.kernels.resources.baseline import Baseline, Record
from runtime.kernels.resources.catalogue import Variant
from runtime.kernels.resources.measuring import KernelResources
from runtime.platforms.chips import ChipSpec

Status = Literal["same", "better", "worse", "new", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said of one variant.

    Attributes:
        name: the variant's.
        resources: what it needs now; None where it does not compile.
        status: broken is beyond a limit or does not compile, worse needs more than recorded, new is not recorded,
            better needs less.
        reasons: what is broken, worse or better, one phrase each.
    """

    name: str
    resources: KernelResources | None
    status: Status
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of all variants that were measured.

    Attributes:
        findings: one a variant, by name.
        gone: recorded variants that no kernel declares any more.
        other_compilers: "name old -> new" of each compiler that is not the one of the record.
    """

    findings: tuple[Finding, ...]
    gone: tuple[str, ...]
    other_compilers: tuple[str, ...]

    def having(self, *statuses: Status) -> tuple[Finding, ...]:
        """The findings of these statuses."""
        return tuple(finding for finding in self.findings if finding.status in statuses)

    @property
    def exit_status(self) -> int:
        """1 where a limit is broken, a kernel is worse or is not recorded; 3 where another compiler may be why."""
        if self.having("broken", "new"):
            return 1
        if self.having("worse"):
            return 3 if self.other_compilers else 1
        return 0


def judge(
    variants: Collection[Variant],
    measured: Mapping[str, KernelResources | CompilationError],
    baseline: Baseline,
    compilers: Mapping[str, str],
    chip: ChipSpec,
    recorded: Collection[str],
) -> Verdict:
    """Judge variants by what was measured of them.

    Args:
        measured: by name, for each of the variants; an error where it does not compile.
        compilers: the versions that it was compiled with.
        recorded: the names in the baseline that are asked about; those of no variant are gone.
    """
    findings = []
    for variant in sorted(variants, key=lambda variant: variant.name):
        found = measured[variant.name]
        if isinstance(found, CompilationError):
            findings.append(Finding(variant.name, None, "broken", (str(found),)))
        else:
            findings.append(_finding(variant, found, baseline.records.get(variant.name), chip))
    changed = (
        f"{name} {baseline.compilers[name]} -> {version}"
        for name, version in sorted(compilers.items())
        if baseline.compilers.get(name, version) != version
    )
    names = {variant.name for variant in variants}
    return Verdict(tuple(findings), tuple(sorted(set(recorded) - names)), tuple(changed))


def updated(
    verdict: Verdict, baseline: Baseline, compilers: Mapping[str, str], accepted: Mapping[str, str]
) -> Baseline:
    """The baseline with what got better, what is new, and what was accepted; without what is gone.

    Nothing broken gets in, and what is worse only with a reason.

    Args:
        accepted: name -> reason of variants that may need more from now on.
    """
    records = {name: record for name, record in baseline.records.items() if name not in verdict.gone}
    for finding in verdict.findings:
        recordable = finding.status in ("better", "new") or (finding.status == "worse" and finding.name in accepted)
        if recordable and finding.resources is not None:
            records[finding.name] = _record(finding.resources, accepted.get(finding.name, ""))
    # A record that was not measured again, or was and kept, is the other compiler's.
    refused = any(finding.name not in accepted for finding in verdict.having("worse"))
    return Baseline(baseline.platform, baseline.compilers if refused else {**baseline.compilers, **compilers}, records)


def _finding(variant: Variant, resources: KernelResources, record: Record | None, chip: ChipSpec) -> Finding:
    if broken := tuple(_broken_limits(variant, resources, chip)):
        return Finding(variant.name, resources, "broken", broken)
    if record is None:
        return Finding(variant.name, resources, "new")
    # Lower is better for all of them.
    changes = (
        ("registers", record.registers, resources.registers),
        ("bytes of shared memory", record.shared_bytes, resources.shared_bytes),
        ("% of the warps left idle", 100 - 100 * record.occupancy, 100 - 100 * resources.occupancy),
    )
    if worse := tuple(f"{new:g} {what}, recorded {old:g}" for what, old, new in changes if new > old):
        return Finding(variant.name, resources, "worse", worse)
    if better := tuple(f"{new:g} {what}, recorded {old:g}" for what, old, new in changes if new < old):
        return Finding(variant.name, resources, "better", better)
    return Finding(variant.name, resources, "same")


def _broken_limits(variant: Variant, resources: KernelResources, chip: ChipSpec) -> list[str]:
    broken = []
    if resources.spilled_bytes:
        broken.append(f"{resources.spilled_bytes} bytes of registers are spilled; work on less at a time")
    if resources.registers > chip.max_registers:
        broken.append(f"{resources.registers} registers, a thread has {chip.max_registers}")
    if resources.shared_bytes > chip.shared_bytes:
        broken.append(f"{resources.shared_bytes} bytes of shared memory, a block has {chip.shared_bytes}")
    elif not resources.occupancy:
        broken.append("a block takes more registers than there are; it cannot be launched")
    if resources.foreign_instructions:
        broken.append(f"instructions that the chip does not have: {', '.join(resources.foreign_instructions)}")
    if variant.tensor_cores and not resources.tensor_core_instructions:
        broken.append("no tensor core instruction, though the variant declares them")
    if resources.tensor_core_instructions and not variant.tensor_cores:
        broken.append("tensor core instructions, which the variant does not declare")
    return broken


def _record(resources: KernelResources, accepted: str) -> Record:
    return Record(
        registers=resources.registers,
        spilled_bytes=resources.spilled_bytes,
        shared_bytes=resources.shared_bytes,
        occupancy=resources.occupancy,
        tensor_core_instructions=resources.tensor_core_instructions,
        accepted=accepted,
    )
