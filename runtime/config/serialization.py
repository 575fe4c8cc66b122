"""A configuration as JSON, for workers and for files: nested objects, one member a setting."""

from __future__ import annotations

import json
from dataclasses import asdict

from runtime.config.fields import assemble
from runtime.config.schema import FIELDS, RuntimeConfig
from runtime.config.validation import validate
from runtime.config.values import checked
from runtime.errors import ConfigError


def to_json(config: RuntimeConfig) -> str:
    """Write every setting, diagnostic ones too."""
    return json.dumps(asdict(config), indent=2)


def from_json(text: str) -> RuntimeConfig:
    """Read what `to_json` has written; neither the environment nor any default has a say.

    Raises:
        ConfigError: the text is not JSON, or a setting is missing, unknown, or has a value that is not admitted.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"configuration: not valid JSON: {error}") from error
    given = _by_path(document)
    unknown, missing = sorted(given.keys() - FIELDS.keys()), [path for path in FIELDS if path not in given]
    if unknown or missing:
        parts = (f"unknown {', '.join(unknown)}" * bool(unknown), f"missing {', '.join(missing)}" * bool(missing))
        raise ConfigError(f"configuration: {'; '.join(filter(None, parts))}; write it with the version that reads it")
    config = assemble(RuntimeConfig, {path: checked(spec, given[path], path) for path, spec in FIELDS.items()})
    validate(config)
    return config


def _by_path(document: object) -> dict[str, object]:
    if not isinstance(document, dict):
        raise ConfigError("configuration: the JSON is not an object of settings")
    values: dict[str, object] = {}
    for group, members in document.items():
        if isinstance(members, dict):
            values.update({f"{group}.{name}": value for name, value in members.items()})
        else:
            values[group] = members
    return values
