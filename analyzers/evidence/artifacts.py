"""Artifacts: the JSON files that back a claim, and what each says of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from analyzers.errors import UserError
from analyzers.evidence.kinds import Kind
from analyzers.routes.snapshot import parse as parse_plan

_REFERENCE = re.compile(r"(?P<path>[^\s@]\S*)@sha256:(?P<digest>[0-9a-fA-F]{64})")
Text = Annotated[str, Field(min_length=1)]


class _Document(BaseModel):
    """Part of an artifact: no value is converted, and fields that are not declared here may stand beside these."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Machine(_Document):
    """What a run ran on."""

    device: Text
    """As its driver calls it, such as `Tesla V100-SXM2-32GB`; `cpu` for the processor."""
    interpreted: bool = False
    """Kernels ran in an interpreter, as with `TRITON_INTERPRET=1`: that they are right is shown, not how fast."""


class Figure(_Document):
    """One measured quantity."""

    unit: Text
    values: list[FiniteFloat]
    """One a run."""


class MeasuredPerformance(_Document):
    """Numbers, with what they were measured on and how."""

    kind: Literal[Kind.MEASURED]
    version: Literal[1]
    machine: Machine
    command: Text
    """What to run to measure them again."""
    runs: int = Field(gt=0)
    figures: dict[str, Figure] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_run_has_its_value(self) -> MeasuredPerformance:
        for name, figure in self.figures.items():
            if len(figure.values) != self.runs:
                raise ValueError(f"the figure {name!r} has {len(figure.values)} values for {self.runs} runs")
        return self


class ObservedDispatch(_Document):
    """Operators that were seen to run."""

    kind: Literal[Kind.OBSERVED]
    version: Literal[1]
    machine: Machine
    operators: list[dict[str, Any]] = Field(min_length=1)


_MODELS: Mapping[Kind, type[MeasuredPerformance | ObservedDispatch]] = {
    Kind.MEASURED: MeasuredPerformance,
    Kind.OBSERVED: ObservedDispatch,
}


class Reference(NamedTuple):
    """An artifact as a row names it."""

    path: str
    """POSIX, relative to the root."""
    digest: str
    """The SHA-256 of the file, 64 hexadecimal digits in lower case."""


class Artifact(NamedTuple):
    """What an artifact says of itself."""

    kind: Kind
    machine: Machine | None
    """None where nothing ran."""


class ArtifactError(Exception):
    """A file is no artifact of any kind, or not what its kind must be. The text says why, without the file's name."""


def artifact_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what ran. A static plan has none: `gates routes snapshot` alone writes it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_MODELS[kind].model_json_schema()}


def parse_reference(text: str) -> Reference | None:
    """Read `path@sha256:DIGEST`; None where the text is something else."""
    found = _REFERENCE.fullmatch(text)
    return Reference(found["path"], found["digest"].lower()) if found else None


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def read_artifact(data: bytes) -> Artifact:
    """Read an artifact, and check all that its kind asks of it. Raises ArtifactError."""
    try:
        text = data.decode()
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"is no JSON: {error}") from None
    name = document.get("kind") if isinstance(document, dict) else None
    kind = next((kind for kind in Kind if kind == name), None)
    if kind is None:
        raise ArtifactError(f"has no `kind` out of {', '.join(Kind)}")
    if kind is Kind.PLAN:
        return _plan(text)
    try:
        return Artifact(kind, _MODELS[kind].model_validate_json(text).machine)
    except ValidationError as error:
        raise ArtifactError(_complaint(error)) from None


def _plan(text: str) -> Artifact:
    name = "it"
    try:
        parse_plan(text, name)
    except UserError as error:
        raise ArtifactError(str(error).removeprefix(f"{name}: ")) from None
    return Artifact(Kind.PLAN, None)


def _complaint(error: ValidationError) -> str:
    """The first thing that is wrong, with the key that it is about."""
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"`{key}`: {message}" if key else message
