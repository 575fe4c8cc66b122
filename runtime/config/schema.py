"""The typed root of the configuration and its children: every setting of the runtime, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from runtime.config.fields import FieldSpec, collect, setting

DTYPES = ("auto", "float32", "float16", "bfloat16")
DTYPE_SYNONYMS = {"fp32": "float32", "float": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}
CODECS = ("auto", "fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head")
CODEC_SYNONYMS = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "fp8": "fp8_e4m3",
    "int8": "int8_per_token_head",
}
WEIGHT_CHOICES = ("auto", "packed", "dequantized")
KERNEL_CHOICES = ("auto", "reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Which model runs, and in which precision."""

    path: str = setting("", help="a GGUF file or a folder with safetensors; empty for the embedded default model")
    tokenizer: str = setting("", help="a tokenizer.json, its folder or a .gguf file; empty for the model's own")
    dtype: str = setting(
        "auto",
        help="floating-point format of weights and activations",
        choices=DTYPES,
        synonyms=DTYPE_SYNONYMS,
    )
    residual_dtype: str = setting(
        "auto",
        help="floating-point format of the residual stream; auto is what the model declares, else model.dtype",
        choices=DTYPES,
        synonyms=DTYPE_SYNONYMS,
    )
    weights: str = setting(
        "auto",
        help="quantised matrices: packed as the checkpoint has them, or dequantized once into model.dtype",
        choices=WEIGHT_CHOICES,
    )
    max_model_len: int | None = setting(
        None, help="longest prompt plus answer, in tokens; unset for what the model was trained for", above=0
    )
    seed: int = setting(0, help="seed of what is random when a request names no seed of its own", above=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """The paged KV cache: its format, its size and whether prefixes are shared."""

    codec: str = setting(
        "auto",
        help="format of cached keys and values; auto is the codec that keeps model.dtype as it is",
        choices=CODECS,
        synonyms=CODEC_SYNONYMS,
    )
    block_size: int = setting(16, help="tokens in one block of the cache; a power of two", above=0)
    num_blocks: int | None = setting(None, help="blocks of the cache; wins over cache.memory_bytes", above=0)
    memory_bytes: int | None = setting(
        None, help="memory of the cache; unset to size it by what the platform has left", above=0, unit="bytes"
    )
    prefix_caching: bool = setting(True, help="keep the blocks of finished prompts for requests that begin alike")
    k_scale: float = setting(1.0, help="stored keys are divided by this, in an FP8 codec", above=0)
    v_scale: float = setting(1.0, help="stored values are divided by this, in an FP8 codec", above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionConfig:
    """Which attention route runs."""

    route: str = setting("auto", help="force one declared attention route by its name")
    prefill_chunk: int = setting(
        0, help="most prompt tokens that one request computes in one step; 0 for the whole token budget", above=-1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsConfig:
    """Which implementations the remaining operators may use."""

    linear: str = setting("auto", help="force one declared provider of products with weights by its name")
    moe: str = setting("auto", help="route of mixture-of-experts layers", choices=KERNEL_CHOICES)
    gdn: str = setting("auto", help="route of gated delta net layers", choices=KERNEL_CHOICES)
    native: str = setting("auto", help="whether compiled CUDA operators may run", choices=("auto", "off"))
    binary: str = setting(
        "", help="folder of prebuilt CUDA operators, by `v100 kernels build`; empty compiles them when they are needed"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """How requests share the steps of the engine."""

    max_num_seqs: int = setting(64, help="most requests that run in one step", above=0)
    max_num_batched_tokens: int = setting(2048, help="most tokens that one step computes", above=0)
    policy: str = setting("fcfs", help="which waiting request starts first", choices=("fcfs", "priority"))
    chunked_prefill: bool = setting(True, help="split a long prompt over several steps")
    max_waiting: int | None = setting(None, help="most requests that wait; further ones are refused", above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelConfig:
    """How the work is spread over devices and threads."""

    tensor_parallel_size: int = setting(1, help="devices that share one model; 1 for now", above=0)
    threads: int | None = setting(None, help="CPU threads; unset for what torch chooses", above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculativeConfig:
    """Draft tokens that are checked several at a time."""

    num_draft_tokens: int = setting(0, help="draft tokens that one step verifies; 0 for now", above=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphConfig:
    """Captured device graphs."""

    enabled: bool | None = setting(None, help="capture decode steps as device graphs; unset for the platform's choice")
    batch_sizes: tuple[int, ...] = setting(
        (), help="batch sizes to capture, ascending; empty for the engine's choice", above=0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservabilityConfig:
    """What is reported. Nothing here changes what is computed."""

    log_stats: bool = setting(False, help="print what the engine counted when a command ends", diagnostic=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """Every setting of one engine. Immutable, picklable, and never in touch with the environment."""

    model: ModelConfig = field(default_factory=ModelConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    kernels: KernelsConfig = field(default_factory=KernelsConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    parallel: ParallelConfig = field(default_factory=ParallelConfig)
    speculative: SpeculativeConfig = field(default_factory=SpeculativeConfig)
    graphs: GraphConfig = field(default_factory=GraphConfig)
    observability: ObservabilityConfig = field(default_factory=ObservabilityConfig)


FIELDS: Mapping[str, FieldSpec] = MappingProxyType(collect(RuntimeConfig))
"""Every setting by owner path, in declared order."""
