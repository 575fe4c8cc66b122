"""The identity of a computation: equal configurations compute alike, whatever they log."""

from __future__ import annotations

import hashlib
import json

from runtime.config.fields import flatten
from runtime.config.schema import FIELDS, RuntimeConfig


def compute_hash(config: RuntimeConfig) -> str:
    """SHA-256, in hexadecimal, over every setting that is not diagnostic, by owner path."""
    values = {path: value for path, value in flatten(config).items() if not FIELDS[path].diagnostic}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
