"""Which platform is chosen, and what each declares."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from runtime.config import FIELDS, ConfigWarning, Defaults, resolve
from runtime.errors import ConfigError
from runtime.platforms import Platform, current, declared
from runtime.platforms.cuda import CudaDevice, CudaMachine, visible
from runtime.platforms.declarations import PLATFORM_SPECS, PlatformSpec

V100 = CudaDevice(1, "Tesla V100-SXM2-32GB", (7, 0))
T4 = CudaDevice(0, "Tesla T4", (7, 5))
VOLTA_BUILD = ("sm_70", "sm_75")
REPOSITORY = Path(__file__).parents[3]
NAMES = [spec.name for spec in PLATFORM_SPECS]


def here(*cards: CudaDevice, code: tuple[str, ...] = VOLTA_BUILD) -> CudaMachine:
    return CudaMachine(cards, code)


@pytest.mark.parametrize(
    ("name", "cards", "chosen"),
    [
        ("auto", (), ("cpu", "cpu", True)),
        ("auto", (T4,), ("cuda", "cuda:0", False)),
        ("auto", (T4, V100), ("sm70", "cuda:1", True)),
        ("cuda", (T4, V100), ("cuda", "cuda:0", False)),
        ("sm70", (T4, V100), ("sm70", "cuda:1", True)),
        ("cpu", (T4, V100), ("cpu", "cpu", True)),
    ],
)
def test_the_best_card_is_chosen_or_the_one_that_is_named(
    name: str, cards: tuple[CudaDevice, ...], chosen: tuple[str, str, bool]
) -> None:
    platform: Platform = current(name, lambda: here(*cards))
    assert (platform.name, platform.device, platform.qualified) == chosen


@pytest.mark.parametrize(
    ("name", "machine", "message"),
    [
        ("sm71", here(), r"platform 'sm71': must be one of auto, sm70, cpu, cuda"),
        (
            "sm70",
            here(),
            r"platform sm70: torch sees no CUDA device here; .*pip install 'voltgate\[v100\]'.*v100 doctor",
        ),
        ("cuda", here(), r"platform cuda: torch sees no CUDA device here"),
        ("sm70", here(T4), r"platform sm70: the cards here are of another kind: Tesla T4 \(cuda\); .*platform cuda"),
        ("cuda", here(V100), r"platform cuda: the cards here are of another kind: Tesla V100.*platform sm70"),
        ("sm70", here(V100, code=("sm_75", "sm_90")), r"holds no sm_70 code \(sm_75, sm_90\); run `pip install"),
        ("auto", here(V100, code=("sm_75",)), r"Tesla V100-SXM2-32GB is present, but .* choose the platform cpu"),
    ],
)
def test_a_platform_that_cannot_be_had_is_an_error_with_the_remedy(
    name: str, machine: CudaMachine, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        current(name, lambda: machine)


def test_the_cpu_is_chosen_by_name_without_asking_for_cards() -> None:
    assert current("cpu", lambda: pytest.fail("asked for cards")).name == "cpu"


def test_torch_is_asked_for_every_card(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = {0: ("Tesla T4", (7, 5)), 1: ("Tesla V100-SXM2-32GB", (7, 0))}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(cards))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: cards[index][0])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: cards[index][1])
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_70"])
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda index: (1000 + index, 5000))
    assert visible() == here(T4, V100, code=("sm_70",))
    assert current().memory_bytes() == 1001


def test_a_torch_that_cannot_be_imported_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"torch cannot be imported: .*v100 doctor"):
        current()
    assert current("cpu").name == "cpu"


def test_planning_needs_no_torch() -> None:
    script = (
        "import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
        "import runtime.config, runtime.platforms, runtime.platforms.doctor\n"
        "p = runtime.platforms.declared('sm70')\n"
        "r = runtime.config.resolve({}, {}, platform=p.defaults(), safety=p.overrides())\n"
        "print(r.config.model.dtype, p.supports('bf16').reason)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.stdout.startswith("float16 sm70 has no bfloat16 arithmetic"), done.stderr


def test_memory_of_the_cpu_is_less_than_the_machine_has() -> None:
    assert 2**20 < current("cpu").memory_bytes() < 2**50


@pytest.mark.parametrize("spec", PLATFORM_SPECS, ids=lambda spec: spec.name)
def test_a_declaration_agrees_with_itself_and_with_the_settings(spec: PlatformSpec) -> None:
    platform = declared(spec.name)
    assert platform.default_dtype in platform.dtypes
    assert set(platform.dtypes) <= set(FIELDS["model.dtype"].choices)
    assert set(platform.spec.codecs) <= set(FIELDS["cache.codec"].choices)
    for replacement in platform.spec.replacements:
        assert replacement.reason
        assert replacement.refused not in (*platform.dtypes, *platform.spec.codecs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("codec", [choice for choice in FIELDS["cache.codec"].choices if choice != "auto"])
def test_a_codec_is_run_or_refused_with_a_reason(name: str, codec: str) -> None:
    support = declared(name).supports(codec)
    assert bool(support) == support.admitted == (not support.reason)
    assert bool(support) == ((name, codec) != ("sm70", "bf16"))


def test_an_unheard_of_codec_is_refused_with_those_that_run() -> None:
    assert declared("cpu").supports("int4").reason == f"cpu runs {', '.join(declared('cpu').spec.codecs)}"


def test_codec_names_are_those_of_the_formats() -> None:
    formats = pytest.importorskip("runtime.formats.kv.declarations")
    names = {codec.name for codec in formats.KV_CODECS}
    assert names == set(FIELDS["cache.codec"].choices) - {"auto"}
    aliases = {alias: codec.name for codec in formats.KV_CODECS for alias in codec.aliases if alias != "auto"}
    assert aliases == dict(FIELDS["cache.codec"].synonyms)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::runtime.config.ConfigWarning")
def test_whatever_is_asked_for_the_platform_gets_what_it_can_run(name: str) -> None:
    platform = declared(name)
    asked = {"model.dtype": "bfloat16", "model.residual_dtype": "bfloat16", "cache.codec": "bf16"}
    config = resolve(asked, {}, platform=platform.defaults(), safety=platform.overrides()).config
    assert config.model.dtype in platform.dtypes
    assert config.model.residual_dtype in platform.dtypes
    assert platform.supports(config.cache.codec)


def test_graphs_are_never_captured_on_a_cpu() -> None:
    cpu = declared("cpu")
    with pytest.warns(ConfigWarning, match=r"graphs\.enabled: True was asked for, False is used \(cpu\)"):
        resolved = resolve({"graphs.enabled": True}, {}, platform=cpu.defaults(), safety=cpu.overrides())
    assert resolved.config.graphs.enabled is False


@pytest.mark.parametrize("name", NAMES)
def test_a_residual_that_the_model_declares_is_the_default_on_every_platform(name: str) -> None:
    platform = declared(name)
    model = Defaults("family", {"model.residual_dtype": ("float32", "its residual overflows float16")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolved = resolve({}, {}, platform=platform.defaults(), model=model, safety=platform.overrides())
    assert resolved.config.model.residual_dtype == "float32"
    assert resolved.provenance["model.residual_dtype"].chosen.reason == "its residual overflows float16"
