"""Environment variables to candidates: unknown names warn, bad values fail, deprecated ones warn once a process."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterator, Mapping, Sequence

from runtime.config.environment import ENVIRONMENT, PREFIX, EnvironmentVariable
from runtime.config.provenance import Candidate
from runtime.config.schema import FIELDS
from runtime.config.values import parsed

_WARNED: set[str] = set()


class ConfigWarning(UserWarning):
    """Something about the configuration that its author should hear, though it does not stop the runtime."""


def variables_of(path: str) -> list[str]:
    """The variables that feed a setting, the strongest first."""
    return [variable.name for variable in ENVIRONMENT if variable.owner == path]


def stated_by_environment(
    environ: Mapping[str, str], registry: Sequence[EnvironmentVariable] = ENVIRONMENT
) -> Iterator[tuple[str, Candidate]]:
    """Every (owner path, candidate) that the environment states, in declared order. An empty variable states nothing.

    Raises:
        ConfigError: a variable's value is not admitted, also where another source would win over it.
    """
    _warn_of_unknown(environ, [variable.name for variable in registry])
    for variable in registry:
        text = environ.get(variable.name, "")
        if not text:
            continue
        value = parsed(FIELDS[variable.owner], text, variable.name)
        _warn_of_deprecation(variable)
        yield variable.owner, Candidate(value, "environment", variable.name, variable.description)


def _warn_of_unknown(environ: Mapping[str, str], known: Sequence[str]) -> None:
    stems = [name.removeprefix(PREFIX) for name in known]
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name.removeprefix(PREFIX), stems, n=1)
            remedy = f"did you mean {PREFIX}{near[0]}?" if near else "`v100 explain --config` lists those that are"
            _warn_once(name, f"{name} is not a variable of this runtime and has no effect; {remedy}")


def _warn_of_deprecation(variable: EnvironmentVariable) -> None:
    deprecation = variable.deprecation
    if deprecation is None:
        return
    remedy = f"use {deprecation.replacement}" if deprecation.replacement else f"set {variable.owner} instead"
    _warn_once(variable.name, f"{variable.name} is deprecated ({deprecation.kind}): {deprecation.reason}; {remedy}")


def _warn_once(name: str, message: str) -> None:
    if name not in _WARNED:
        _WARNED.add(name)
        warnings.warn(message, ConfigWarning, stacklevel=2)
