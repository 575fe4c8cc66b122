"""The environment variables of the runtime: each an alias of a typed setting, declared as pure data.

This is the only module that may read the environment, and it does so once, when it is asked to. The records are
literals, so that a reader of the source knows as much as the running program. Their order matters: where two variables
feed one setting, the first wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

PREFIX = "V100_"

Category = Literal["configuration", "tuning", "experimental", "debug", "deprecated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """Why a variable should no longer be used.

    Attributes:
        kind: `alias` (another variable says the same), `experiment` (its question is answered), `historical` (what it
            switched is gone).
        evidence: what can be looked up to see that the reason holds.
        replacement: the variable to use instead; every alias has one.
    """

    kind: Literal["alias", "experiment", "historical"]
    reason: str
    evidence: str
    replacement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentVariable:
    """One variable.

    Attributes:
        owner: owner path of the setting that it feeds.
        parser: how its text is read, by the name in `values.PARSERS`.
        declared_default: the setting's default where nobody states a value.
        effective_default: the default by platform, where it is another.
        conditions: when the runtime changes the value by itself.
        affected_paths: the parts of the repository that behave differently.
    """

    name: str
    owner: str
    parser: str
    description: str
    category: Category
    declared_default: object
    affected_paths: tuple[str, ...]
    effective_default: Mapping[str, object] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    deprecation: Deprecation | None = None


ENVIRONMENT: tuple[EnvironmentVariable, ...] = (
    EnvironmentVariable(
        name="V100_MODEL",
        owner="model.path",
        parser="text",
        description="The model: a GGUF file or a folder with safetensors.",
        category="configuration",
        declared_default="",
        affected_paths=("runtime/models",),
    ),
    EnvironmentVariable(
        name="V100_DTYPE",
        owner="model.dtype",
        parser="text",
        description="Floating-point format of weights and activations.",
        category="configuration",
        declared_default="auto",
        effective_default={"cpu": "float32", "cuda": "float16", "sm70": "float16"},
        conditions=("sm70 replaces bfloat16 by float16",),
        affected_paths=("runtime/models", "runtime/attention"),
    ),
    EnvironmentVariable(
        name="V100_RESIDUAL_DTYPE",
        owner="model.residual_dtype",
        parser="text",
        description="Floating-point format of the residual stream.",
        category="tuning",
        declared_default="auto",
        effective_default={"cpu": "float32", "cuda": "float16", "sm70": "float16"},
        conditions=(
            "a model whose residual overflows float16 declares float32",
            "sm70 replaces bfloat16 by float32",
        ),
        affected_paths=("runtime/models",),
    ),
    EnvironmentVariable(
        name="V100_MAX_MODEL_LEN",
        owner="model.max_model_len",
        parser="integer",
        description="Longest prompt plus answer, in tokens.",
        category="configuration",
        declared_default=None,
        conditions=("the model's trained length where nothing is stated",),
        affected_paths=("runtime/engine",),
    ),
    EnvironmentVariable(
        name="V100_KV_CODEC",
        owner="cache.codec",
        parser="text",
        description="Format of cached keys and values.",
        category="configuration",
        declared_default="auto",
        effective_default={"cpu": "fp32", "cuda": "fp16", "sm70": "fp16"},
        conditions=("auto follows model.dtype", "sm70 replaces bf16 by fp16"),
        affected_paths=("runtime/formats/kv", "runtime/attention"),
    ),
    EnvironmentVariable(
        name="V100_KV_DTYPE",
        owner="cache.codec",
        parser="text",
        description="The name that other engines give to V100_KV_CODEC.",
        category="deprecated",
        declared_default="auto",
        effective_default={"cpu": "fp32", "cuda": "fp16", "sm70": "fp16"},
        conditions=("auto follows model.dtype", "sm70 replaces bf16 by fp16"),
        affected_paths=("runtime/formats/kv", "runtime/attention"),
        deprecation=Deprecation(
            kind="alias",
            reason="a codec is more than a dtype: two codecs share one storage dtype",
            evidence="runtime/formats/kv/declarations.py: fp8_e4m3 and fp8_e5m2 are both stored as uint8",
            replacement="V100_KV_CODEC",
        ),
    ),
    EnvironmentVariable(
        name="V100_KV_MEMORY",
        owner="cache.memory_bytes",
        parser="bytes",
        description="Memory of the KV cache, such as 8GiB.",
        category="configuration",
        declared_default=None,
        conditions=("what the platform has left where nothing is stated", "cache.num_blocks wins over it"),
        affected_paths=("runtime/engine",),
    ),
    EnvironmentVariable(
        name="V100_BLOCK_SIZE",
        owner="cache.block_size",
        parser="integer",
        description="Tokens in one block of the KV cache.",
        category="tuning",
        declared_default=16,
        affected_paths=("runtime/attention", "runtime/engine"),
    ),
    EnvironmentVariable(
        name="V100_PREFIX_CACHING",
        owner="cache.prefix_caching",
        parser="flag",
        description="Share the blocks of prompts that begin alike.",
        category="tuning",
        declared_default=True,
        affected_paths=("runtime/engine",),
    ),
    EnvironmentVariable(
        name="V100_ATTENTION_ROUTE",
        owner="attention.route",
        parser="text",
        description="Force one declared attention route.",
        category="experimental",
        declared_default="auto",
        affected_paths=("runtime/attention",),
    ),
    EnvironmentVariable(
        name="V100_MAX_NUM_SEQS",
        owner="scheduler.max_num_seqs",
        parser="integer",
        description="Most requests that run in one step.",
        category="tuning",
        declared_default=64,
        affected_paths=("runtime/engine",),
    ),
    EnvironmentVariable(
        name="V100_MAX_NUM_BATCHED_TOKENS",
        owner="scheduler.max_num_batched_tokens",
        parser="integer",
        description="Most tokens that one step computes.",
        category="tuning",
        declared_default=2048,
        affected_paths=("runtime/engine",),
    ),
    EnvironmentVariable(
        name="V100_THREADS",
        owner="parallel.threads",
        parser="integer",
        description="CPU threads.",
        category="tuning",
        declared_default=None,
        conditions=("torch's own choice where nothing is stated",),
        affected_paths=("runtime/kernels",),
    ),
    EnvironmentVariable(
        name="V100_LOG_STATS",
        owner="observability.log_stats",
        parser="flag",
        description="Print what the engine counted when a command ends.",
        category="debug",
        declared_default=False,
        affected_paths=("runtime/cli",),
    ),
)


def captured() -> dict[str, str]:
    """A copy of this runtime's variables as they are now. Later changes of the environment do not reach it."""
    return {name: text for name, text in os.environ.items() if name.startswith(PREFIX)}
