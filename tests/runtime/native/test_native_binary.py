"""Prebuilt CUDA operators, and whether an engine may run them: what is not as it was built is refused, with the reason.

No card and no compiler is needed: cubins are arbitrary bytes here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from runtime.config.schema import KernelsConfig
from runtime.errors import KernelError
from runtime.kernels.cuda.driver import DRIVER
from runtime.kernels.variants import CudaVariant
from runtime.native import binary, kernels, probes
from runtime.native.binary import build, cuda_variants, open_binary
from runtime.native.kernels import initialise
from runtime.native.schemas import POLICY_ABI
from runtime.platforms import Platform
from runtime.platforms.protocol import declared

VOLTA = (7, 0)
VARIANTS = list(cuda_variants())


def compiled(variant: CudaVariant, capability: tuple[int, int]) -> bytes:
    return f"{variant.name} for {capability}".encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A binary of all variants."""
    monkeypatch.setattr(binary, "CubinCompiler", lambda: compiled)
    monkeypatch.setattr(binary, "load_nvrtc", lambda: SimpleNamespace(version="12.8"))
    build(tmp_path / "binary", VOLTA, VARIANTS)
    return tmp_path / "binary"


def test_what_was_built_is_what_is_run(folder: Path) -> None:
    opened = open_binary(folder, VOLTA)
    assert [opened(variant, VOLTA) for variant in VARIANTS] == [compiled(variant, VOLTA) for variant in VARIANTS]
    assert (opened.identity["kind"], opened.identity["policy_abi"]) == ("prebuilt", POLICY_ABI)
    assert opened.identity["compiler"] == "NVRTC 12.8"


def test_a_binary_is_asked_for_its_own_card_only(folder: Path) -> None:
    with pytest.raises(KernelError, match=r"holds kernels for 7\.0, not 7\.5"):
        open_binary(folder, VOLTA)(VARIANTS[0], (7, 5))


def interrupted() -> Iterator[CudaVariant]:
    yield VARIANTS[0]
    raise KeyboardInterrupt


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["binary", "other"])
def test_a_build_that_was_interrupted_changes_nothing(folder: Path, name: str) -> None:
    before = contents(folder.parent)
    with pytest.raises(KeyboardInterrupt):
        build(folder.with_name(name), VOLTA, interrupted())
    assert contents(folder.parent) == before
    assert [path.name for path in folder.parent.iterdir()] == ["binary"]


def test_a_build_leaves_nothing_of_the_binary_before_it(folder: Path) -> None:
    expected = contents(folder.parent)
    (folder / "0123456789abcdef.cubin").write_bytes(b"of another state of the sources")
    build(folder, VOLTA, VARIANTS)
    assert contents(folder.parent) == expected


def test_a_folder_that_holds_something_else_is_not_touched(tmp_path: Path, folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(KernelError, match=r"holds notes\.txt, which is no part of a binary"):
        build(folder, VOLTA, VARIANTS)
    assert contents(tmp_path) == before


def altered(**fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest.update(fields)


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (altered(policy_abi=POLICY_ABI - 1), f"built for ABI {POLICY_ABI - 1}, and this is ABI {POLICY_ABI}"),
        (altered(architecture=[8, 0]), r"built for compute capability 8\.0, not 7\.0"),
        (altered(sources="0" * 64), "built from other sources"),
        (altered(kind="something"), "no manifest of kernels in version 1: Invalid enum value"),
        (altered(version=2), "no manifest of kernels in version 1: Invalid enum value"),
        (altered(version=True), "no manifest of kernels in version 1: Expected `int`"),
        (altered(more=1), "no manifest of kernels in version 1: Object contains unknown field `more`"),
        (altered(architecture=[7]), r"no manifest of kernels in version 1: .*at `\$\.architecture`"),
        (altered(kernels=[]), r"no manifest of kernels in version 1: .*at `\$\.kernels`"),
        (altered(kernels={"a": None}), "no manifest of kernels in version 1: Expected `object`"),
        (lambda manifest: manifest.pop("compiler"), "Object missing required field `compiler`"),
        (lambda manifest: manifest["kernels"].pop(VARIANTS[3].name), r"has no flash_prefill\["),
    ],
)
def test_another_manifest_is_refused(folder: Path, alter: Callable[[dict[str, Any]], None], told: str) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    alter(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(KernelError, match=f"{told}.*v100 kernels build"):
        open_binary(folder, VOLTA)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda file: file.write_bytes(b"\x7fELF"), "SHA-256 differs"),
        (lambda file: file.unlink(), "No such file"),
        (lambda file: (file.parent / "manifest.json").write_text("{"), "not valid JSON"),
        (lambda file: (file.parent / "manifest.json").write_bytes(b"\xff\xfe"), "no text in UTF-8: byte 0"),
        (lambda file: (file.parent / "manifest.json").unlink(), "No such file"),
        (lambda file: shutil.rmtree(file.parent), "No such file"),
    ],
)
def test_a_damaged_binary_is_refused(folder: Path, damage: Callable[[Path], None], told: str) -> None:
    damage(next(folder.glob("*.cubin")))
    with pytest.raises(KernelError, match=f"{told}.*v100 kernels build"):
        open_binary(folder, VOLTA)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (probes.capability_refusal((8, 0)), r"for compute capability 7\.0, and this card has 8\.0"),
        (probes.shared_memory_refusal(49152), "needs 98304 bytes of shared memory, and a block may have 49152"),
    ],
)
def test_a_probe_says_what_is_missing(refusal: str | None, told: str) -> None:
    assert refusal is not None
    assert told.replace("\\", "") in refusal


def test_a_volta_card_has_what_the_kernels_need() -> None:
    shared = declared("sm70").spec.shared_memory_bytes
    assert [probes.capability_refusal(VOLTA), probes.shared_memory_refusal(shared)] == [None, None]


def test_what_comes_into_the_folder_while_it_is_built_is_not_lost(folder: Path) -> None:
    def variants() -> Iterator[CudaVariant]:
        yield from VARIANTS
        (folder / "notes.txt").write_text("mine")

    with pytest.raises(KernelError, match=r"holds notes\.txt"):
        build(folder, VOLTA, variants())
    assert (folder / "notes.txt").read_text() == "mine"
    assert open_binary(folder, VOLTA).identity["kind"] == "prebuilt"


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """A V100 that is not here."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: VOLTA)
    monkeypatch.setattr(probes, "driver_refusal", lambda: None)
    monkeypatch.setattr(probes, "shared_memory_optin", lambda _device: 98304)
    monkeypatch.setattr(probes, "compiler_refusal", lambda _capability: None)
    monkeypatch.setattr(kernels, "load_nvrtc", lambda: SimpleNamespace(version="12.8"))
    before = DRIVER.cubins
    yield SimpleNamespace(spec=declared("sm70").spec, device="cuda:0")
    DRIVER.cubins = before


def test_a_card_runs_the_binary_that_is_named(folder: Path, card: Platform) -> None:
    native = initialise(KernelsConfig(binary=str(folder)), card)
    assert (native.refusal, native.identity["kind"]) == (None, "prebuilt")
    assert DRIVER.cubins(VARIANTS[0], VOLTA) == compiled(VARIANTS[0], VOLTA)


def test_a_card_without_a_binary_compiles(card: Platform) -> None:
    native = initialise(KernelsConfig(), card)
    assert (native.refusal, native.identity["kind"]) == (None, "compiled")


def test_a_binary_that_is_refused_is_not_replaced_in_silence(card: Platform, tmp_path: Path) -> None:
    before = DRIVER.cubins
    with pytest.warns(UserWarning, match="compiled CUDA operators do not run: .*No such file"):
        native = initialise(KernelsConfig(binary=str(tmp_path)), card)
    assert native.refusal is not None
    assert native.identity == {"kind": "none", "reason": native.refusal}
    assert DRIVER.cubins is before


@pytest.mark.parametrize("probe", ["driver_refusal", "compiler_refusal"])
def test_a_card_that_lacks_something_goes_without_and_is_told(
    card: Platform, probe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, probe, lambda *_: "it is not there")
    with pytest.warns(UserWarning, match="it is not there"):
        assert initialise(KernelsConfig(), card).refusal == "it is not there"


def test_kernels_native_off_is_a_reason_and_no_warning(card: Platform, recwarn: pytest.WarningsRecorder) -> None:
    assert initialise(KernelsConfig(native="off"), card).refusal == "kernels.native is off"
    assert not recwarn.list


@pytest.mark.parametrize("policy", [{"native": "off"}, {}])
def test_a_named_binary_is_looked_at_where_it_does_not_run(
    folder: Path, policy: dict[str, str], recwarn: pytest.WarningsRecorder
) -> None:
    """A path that was mistyped, or a build that was interrupted, is heard of before the card is there."""
    machine = SimpleNamespace(spec=declared("sm70" if policy else "cpu").spec, device="cpu")
    initialise(KernelsConfig(binary=str(folder), **policy), machine)
    assert not recwarn.list
    (folder / "manifest.json").unlink()
    with pytest.warns(UserWarning, match=r"kernels\.binary cannot be run on any card: .*manifest\.json: No such file"):
        assert initialise(KernelsConfig(binary=str(folder), **policy), machine).refusal is not None


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_other_platforms_are_not_what_the_kernels_are_for(name: str, recwarn: pytest.WarningsRecorder) -> None:
    platform = SimpleNamespace(spec=declared(name).spec, device=name)
    refusal = initialise(KernelsConfig(), platform).refusal
    assert refusal == f"runs on compute capability 7.0, not on the platform {name}"
    assert not recwarn.list
