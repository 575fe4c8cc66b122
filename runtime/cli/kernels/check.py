"""`v100 kernels check`: compile every kernel variant for the V100, and hold what it needs against the record."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import track

from runtime.errors import ConfigError
from runtime.platforms.chips import V100

if TYPE_CHECKING:
    from runtime.errors import CompilationError
    from runtime.kernels.resources.baseline import Baseline
    from runtime.kernels.resources.catalogue import Variant
    from runtime.kernels.resources.measuring import KernelResources
    from runtime.kernels.resources.ratchet import Finding, Status, Verdict

_BASELINE = Path("baselines/kernels_sm70.json")
_TOLD: tuple[Status, ...] = ("broken", "worse", "new", "better")


@click.command("check", short_help="Compile every kernel for the V100 and check registers, spills, shared memory.")
@click.option("--update", is_flag=True, help="Record what is new or better; refuse what is worse.")
@click.option("--accept", "accepted", multiple=True, metavar="NAME", help="With --update: record it although worse.")
@click.option("--reason", metavar="TEXT", help="Why the accepted kernels may be worse; kept in the record.")
@click.option("--only", default="*", metavar="PATTERN", help="Names of kernels; * stands for any text.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes; one a core if not stated.")
@click.option("--baseline", type=click.Path(path_type=Path), default=_BASELINE, show_default=True, help="The record.")
@click.option("--cache", type=click.Path(path_type=Path), help="Folder of compiled kernels.  [~/.cache/voltgate]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@click.option("-v", "--verbose", is_flag=True, help="List every kernel.")
def command(
    update: bool,
    accepted: tuple[str, ...],
    reason: str | None,
    only: str,
    jobs: int | None,
    baseline: Path,
    cache: Path | None,
    form: str,
    verbose: bool,
) -> None:
    """Compile every kernel variant that a selector can choose for the V100; no GPU is needed.

    None may spill registers, need more than 255 of them or 96 KiB of shared memory, contain instructions that the chip
    does not have, or lack tensor cores that it declares; and none may get worse than its record: more registers or
    shared memory, or lower occupancy.

    Exit status: 0 clean; 1 a limit is broken, or a kernel is worse or not recorded; 2 the command cannot do its work;
    3 kernels are worse and the compiler is another than the record's, so that a person must decide.
    """
    if bool(accepted) != bool(reason) or (accepted and not update):
        raise click.UsageError("--accept NAME needs --update and --reason TEXT, and --reason needs --accept")
    # Only here: `v100 --help` needs neither torch nor Triton.
    from runtime.kernels.resources.baseline import Baseline, read_baseline, write_baseline
    from runtime.kernels.resources.catalogue import all_variants
    from runtime.kernels.resources.measuring import compilers
    from runtime.kernels.resources.ratchet import judge, updated

    record = Baseline(V100.platform) if update and not baseline.exists() else read_baseline(baseline, V100.platform)
    variants = [variant for variant in all_variants() if _matches(only, variant.name)]
    recorded = [name for name in record.records if _matches(only, name)]
    if not variants and not recorded:
        raise click.UsageError(f"--only {only}: no kernel is called that; `v100 kernels check -v` lists them")
    versions = compilers(variants)
    measured = _measured(variants, _usable(cache or _user_cache()), jobs or os.cpu_count() or 1)
    verdict = judge(variants, measured, record, versions, V100, recorded)
    if update:
        if verdict.other_compilers and len(variants) < len(record.records):
            raise click.UsageError("another compiler than the record's: update all kernels, without --only")
        _check_accepted(accepted, verdict)
        record = updated(verdict, record, versions, dict.fromkeys(accepted, reason or ""))
        write_baseline(baseline, record)
        verdict = judge(variants, measured, record, versions, V100, ())
    if form == "json":
        click.echo(json.dumps(_as_data(verdict, versions), indent=2))
    else:
        click.echo(_as_text(verdict, record, versions, verbose))
    sys.exit(verdict.exit_status)


def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "voltgate" / "kernels"


def _usable(cache: Path) -> Path:
    """The folder of compiled kernels, made. Raises ConfigError where nothing can be written there."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=cache):
            return cache
    except OSError as error:
        told = f"{cache}: kernels are compiled into this folder, which cannot be written: {error.strerror}"
        raise ConfigError(f"{told}; name another with --cache") from None


def _measured(variants: Sequence[Variant], cache: Path, jobs: int) -> Mapping[str, KernelResources | CompilationError]:
    from runtime.kernels.resources.measuring import measure_all

    console = Console(stderr=True)
    results = measure_all(variants, V100, cache, min(jobs, max(len(variants), 1)))
    return dict(
        track(
            results,
            "compiling",
            len(variants),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    )


def _check_accepted(accepted: Sequence[str], verdict: Verdict) -> None:
    worse = [finding.name for finding in verdict.having("worse")]
    for name in accepted:
        if name not in worse:
            known = f"worse are {', '.join(worse)}" if worse else "no kernel is"
            raise click.UsageError(f"--accept {name}: it is not worse than its record; {known}")


def _as_data(verdict: Verdict, versions: Mapping[str, str]) -> dict[str, object]:
    return {
        "version": 1,
        "platform": V100.platform,
        "compilers": dict(versions),
        "other_compilers": list(verdict.other_compilers),
        "kernels": [
            {"name": each.name, "status": each.status, "reasons": list(each.reasons), **_needs(each)}
            for each in verdict.findings
        ],
        "gone": list(verdict.gone),
        "exit_status": verdict.exit_status,
    }


def _needs(finding: Finding) -> dict[str, object]:
    return {} if finding.resources is None else asdict(finding.resources)


def _as_text(verdict: Verdict, record: Baseline, versions: Mapping[str, str], verbose: bool) -> str:
    lines = [_line(finding) for finding in verdict.findings] if verbose else []
    for finding in verdict.having(*_TOLD):
        told = "; ".join(finding.reasons) or "not in the record; add --update"
        lines.append(f"{finding.status}: {finding.name}: {told}")
        if finding.status == "worse" and (known := record.records[finding.name].accepted):
            lines.append(f"  accepted before: {known}")
    lines += [f"gone: {name}: recorded, and no kernel declares it; --update removes it" for name in verdict.gone]
    lines += [f"another compiler than the record's: {change}" for change in verdict.other_compilers]
    if verdict.having("better"):
        lines.append("better kernels are locked in by --update")
    if verdict.having("worse"):
        lines.append("mend what is worse, or record it by --update --accept NAME --reason TEXT")
    compilers = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    counts = [f"{len(found)} {status}" for status in _TOLD if (found := verdict.having(status))]
    lines.append(f"{len(verdict.findings)} kernels ({compilers}): {', '.join(counts) or 'as recorded'}")
    return "\n".join(lines)


def _line(finding: Finding) -> str:
    needs = finding.resources
    if needs is None:
        return f"{finding.name:<40} does not compile"
    return (
        f"{finding.name:<40} {needs.registers:>3} registers {needs.shared_bytes:>6} B shared "
        f"{needs.occupancy:>4.0%} occupancy {needs.tensor_core_instructions:>4} HMMA"
    )
