"""From everything that was stated to one configuration, with the provenance of each setting.

Precedence: an explicit value, then environment variables in declared order, then the platform's default (the late
checkpoint), then the model's (the early one), then the declared default. What is still `auto` then follows the setting
that it depends on, and safety overrides come last.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterator, Mapping, Sequence

from runtime.config.aliases import ConfigWarning, stated_by_environment
from runtime.config.environment import PREFIX
from runtime.config.fields import assemble
from runtime.config.provenance import Candidate, Defaults, Override, Provenance, Resolved, Source
from runtime.config.schema import CODEC_SYNONYMS, FIELDS, RuntimeConfig
from runtime.config.validation import validate
from runtime.config.values import checked
from runtime.errors import ConfigError

Settled = dict[str, Provenance]


def resolve(
    explicit: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    platform: Defaults | None = None,
    model: Defaults | None = None,
    safety: Sequence[Override] = (),
) -> Resolved:
    """Settle every setting.

    Args:
        explicit: values by owner path, or by its last part where only one setting ends so (`block_size`). None and
            `auto` leave a setting that admits them to the weaker sources, wherever they are stated.
        environ: the environment as it was captured; nothing reads it again.

    Raises:
        ConfigError: a name is unknown, a value is not admitted, or the settings do not fit together.
    """
    return ConfigBuilder(explicit, environ).with_model(model).with_platform(platform, safety).build()


class ConfigBuilder:
    """Collects what is stated, in whatever order it becomes known.

    The model's defaults may need the checkpoint, whose path is itself a setting, and the platform may be found before
    or after it. `build` may be called at any time: it settles with what is known by then.
    """

    def __init__(self, explicit: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self._explicit: dict[str, object] = {}
        for name, value in explicit.items():
            path = owner_path(name)
            if path in self._explicit:
                raise ConfigError(f"{path}: stated twice, also as {name}; keep one")
            self._explicit[path] = value
        self._environ = {name: text for name, text in environ.items() if name.startswith(PREFIX)}
        self._model: Defaults | None = None
        self._platform: Defaults | None = None
        self._safety: tuple[Override, ...] = ()

    def with_model(self, defaults: Defaults | None) -> ConfigBuilder:
        """The early checkpoint: what the model would choose."""
        self._model = defaults
        return self

    def with_platform(self, defaults: Defaults | None, safety: Sequence[Override] = ()) -> ConfigBuilder:
        """The late checkpoint: what the platform would choose, and what it cannot do without."""
        self._platform = defaults
        self._safety = tuple(safety)
        return self

    def build(self) -> Resolved:
        """Settle and validate; raises as `resolve` does."""
        settled = _overridden(_by_precedence(list(self._stated())), self._safety)
        config = _config(settled)
        validate(config)
        _warn_of_overrides(settled)
        return Resolved(config, settled)

    def settled(self, path: str) -> object:
        """The value of one setting as far as it is known, before safety has its say."""
        return _by_precedence(list(self._stated()))[path].chosen.value

    def _stated(self) -> Iterator[tuple[str, Candidate]]:
        """Every (owner path, candidate), strongest first."""
        for path, value in self._explicit.items():
            yield path, Candidate(checked(FIELDS[path], value, path), "explicit", "", "stated by the caller")
        yield from stated_by_environment(self._environ)
        yield from _of_defaults("platform", self._platform)
        yield from _of_defaults("model", self._model)
        for path, spec in FIELDS.items():
            yield path, Candidate(spec.default, "declared", "", "declared default")


def owner_path(name: str) -> str:
    """The owner path that a name stands for: itself, or the only one that ends in it.

    Raises:
        ConfigError: there is none; the message names the nearest.
    """
    if name in FIELDS:
        return name
    ending = [path for path in FIELDS if path.rpartition(".")[2] == name]
    if len(ending) == 1:
        return ending[0]
    near = ending or difflib.get_close_matches(name, [*FIELDS, *(path.rpartition(".")[2] for path in FIELDS)])
    remedy = f"did you mean {' or '.join(near)}?" if near else "`v100 explain --config` lists the settings"
    raise ConfigError(f"{name}: unknown setting; {remedy}")


def _of_defaults(source: Source, defaults: Defaults | None) -> Iterator[tuple[str, Candidate]]:
    if defaults is None:
        return
    for path, (value, reason) in defaults.values.items():
        place = f"{path} (default of {source} {defaults.source})"
        if path not in FIELDS:
            raise ConfigError(f"{place}: unknown setting")
        yield path, Candidate(checked(FIELDS[path], value, place), source, defaults.source, reason)


def _by_precedence(stated: Sequence[tuple[str, Candidate]]) -> Settled:
    settled: Settled = {}
    for path, spec in FIELDS.items():
        candidates = [candidate for at, candidate in stated if at == path]
        meant = [candidate for candidate in candidates[:-1] if not spec.says_nothing(candidate.value)]
        chosen, *beaten = [*meant, candidates[-1]]
        settled[path] = Provenance(chosen, tuple(beaten))
    return settled


def _derived(settled: Settled) -> Settled:
    """The same, with what is `auto` replaced by what it follows. Without a platform `auto` may remain."""
    dtype = settled["model.dtype"].chosen.value
    follows = {
        "model.residual_dtype": (dtype, "the residual stream keeps the compute dtype"),
        "cache.codec": (CODEC_SYNONYMS.get(str(dtype), "auto"), "the cache keeps the compute dtype"),
    }
    result = dict(settled)
    for path, (value, reason) in follows.items():
        if FIELDS[path].says_nothing(settled[path].chosen.value) and value != "auto":
            result[path] = settled[path].replaced_by(Candidate(value, "derived", "model.dtype", reason))
    return result


def _overridden(settled: Settled, safety: Sequence[Override]) -> Settled:
    """Apply overrides until none applies. All see the same values in each round, so that their order cannot matter."""
    for _ in range(len(safety) + 1):
        effective = _derived(settled)
        demanded = _demanded(effective, _config(effective), safety)
        if not demanded:
            return effective
        settled = settled | {path: effective[path].replaced_by(candidate) for path, candidate in demanded.items()}
    raise ConfigError(f"safety overrides contradict each other on {', '.join(sorted(demanded))}")


def _demanded(effective: Settled, config: RuntimeConfig, safety: Sequence[Override]) -> dict[str, Candidate]:
    demanded: dict[str, Candidate] = {}
    for override in sorted(safety, key=lambda item: (item.source, item.reason)):
        place = f"{override.owner_path} (safety of {override.source})"
        value = checked(FIELDS[owner_path(override.owner_path)], override.value, place)
        if not override.when(config) or effective[override.owner_path].chosen.value == value:
            continue
        first = demanded.setdefault(override.owner_path, Candidate(value, "safety", override.source, override.reason))
        if first.value != value:
            raise ConfigError(f"{place}: {value!r} and {first.value!r} are both demanded; report this as a defect")
    return demanded


def _config(settled: Settled) -> RuntimeConfig:
    return assemble(RuntimeConfig, {path: provenance.chosen.value for path, provenance in settled.items()})


def _warn_of_overrides(settled: Settled) -> None:
    for path, provenance in settled.items():
        chosen = provenance.chosen
        asked = next((c for c in provenance.overridden if c.source in ("explicit", "environment")), None)
        if chosen.source == "safety" and asked is not None:
            told = f"{path}: {asked.value!r} was asked for, {chosen.value!r} is used ({chosen.origin}): {chosen.reason}"
            warnings.warn(told, ConfigWarning, stacklevel=3)
