"""Typed policy of the runtime: resolved once, immutable afterwards, with the provenance of every value."""

from runtime.config.aliases import ConfigWarning
from runtime.config.environment import captured
from runtime.config.hashing import compute_hash
from runtime.config.provenance import Candidate, Defaults, Override, Provenance, Resolved
from runtime.config.report import runtime_policy_report
from runtime.config.resolve import ConfigBuilder, owner_path, resolve
from runtime.config.schema import (
    FIELDS,
    AttentionConfig,
    CacheConfig,
    GraphConfig,
    KernelsConfig,
    ModelConfig,
    ObservabilityConfig,
    ParallelConfig,
    RuntimeConfig,
    SchedulerConfig,
    SpeculativeConfig,
)
from runtime.config.serialization import from_json, to_json
from runtime.config.values import parsed

__all__ = [
    "FIELDS",
    "AttentionConfig",
    "CacheConfig",
    "Candidate",
    "ConfigBuilder",
    "ConfigWarning",
    "Defaults",
    "GraphConfig",
    "KernelsConfig",
    "ModelConfig",
    "ObservabilityConfig",
    "Override",
    "ParallelConfig",
    "Provenance",
    "Resolved",
    "RuntimeConfig",
    "SchedulerConfig",
    "SpeculativeConfig",
    "captured",
    "compute_hash",
    "from_json",
    "owner_path",
    "parsed",
    "resolve",
    "runtime_policy_report",
    "to_json",
]
