"""Declared candidates for a call: the first that admits it runs, and every one before it says why it does not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from runtime.errors import RouteError, meant

AUTO = "auto"
"""Forces no candidate."""

Missing = tuple[tuple[str, str], ...]
"""What candidates may require and is not here, each with the reason."""


class Spec(Protocol):
    """What every declared candidate has. An empty tuple admits everything."""

    @property
    def name(self) -> str: ...

    @property
    def platforms(self) -> tuple[str, ...]: ...

    @property
    def dtypes(self) -> tuple[str, ...]: ...

    @property
    def requires(self) -> tuple[str, ...]: ...


class Call(Protocol):
    """What every call has: where it runs, in which compute dtype, both by name, and what is missing there."""

    @property
    def platform(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def missing(self) -> Missing: ...


SpecT = TypeVar("SpecT", bound=Spec)
CallT = TypeVar("CallT", bound=Call)


@dataclass(frozen=True, slots=True)
class Choice(Generic[SpecT]):
    """The candidate that takes a call, and (name, reason) of every one before it, in order of preference."""

    spec: SpecT
    refusals: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verdict(Generic[SpecT]):
    """What became of one candidate for a call: chosen, refused, or admitted behind a better one."""

    spec: SpecT
    verdict: Literal["chosen", "refused", "not needed"]
    reason: str


class Candidates(ABC, Generic[SpecT, CallT]):
    """A table of candidates for calls of one kind, and how they are judged."""

    def __init__(self, specs: Sequence[SpecT], noun: str, setting: str) -> None:
        """Take a table.

        Args:
            specs: the candidates, in order of preference.
            noun: what a candidate is called, such as "route".
            setting: owner path of the setting that forces one.
        """
        self.specs = tuple(specs)
        self._noun = noun
        self._setting = setting

    @abstractmethod
    def serves(self, spec: SpecT, call: CallT) -> bool:
        """Whether a candidate is one for calls of this kind at all; if not, its refusal is not worth a word."""

    @abstractmethod
    def reasons(self, spec: SpecT, call: CallT) -> Iterator[str]:
        """Every reason why a candidate cannot take a call, the one that a user can do least about first."""

    @abstractmethod
    def described(self, call: CallT) -> str:
        """What an error calls a call, behind the word "this"."""

    def binds(self, spec: SpecT, call: CallT) -> bool:
        """Whether a candidate that is forced must take a call."""
        return self.serves(spec, call)

    def refusal(self, spec: SpecT, call: CallT) -> str | None:
        """The first reason why a candidate cannot take a call, or None where it can."""
        return next(self.reasons(spec, call), None)

    def find(self, name: str) -> SpecT:
        """The declared candidate of that name. Raises RouteError with the names that are near it."""
        for spec in self.specs:
            if spec.name == name:
                return spec
        names = [AUTO, *(spec.name for spec in self.specs)]
        hint = meant(name, names, f"declared: {', '.join(names)}")
        raise RouteError(f"{self._setting}: no {self._noun} is called {name!r}; {hint}")

    def require(self, spec: SpecT, call: CallT) -> None:
        """Check that a forced candidate can take a call. Raises RouteError with the reason where it cannot."""
        reason = self.refusal(spec, call)
        if reason is not None:
            raise RouteError(
                f"{self._setting}: {spec.name!r} was forced and cannot take this {self.described(call)}: {reason}; "
                f"choose another {self._noun}, or {AUTO!r}"
            )

    def select(self, call: CallT, forced: str = AUTO) -> Choice[SpecT]:
        """The candidate for a call.

        Args:
            call: what is to run.
            forced: a candidate's name, which binds the calls that `binds` says and no other; "auto" binds none.

        Raises:
            RouteError: `forced` is not declared, or binds the call and cannot take it, or no candidate can.
        """
        if forced != AUTO:
            spec = self.find(forced)
            if self.binds(spec, call):
                self.require(spec, call)
                return Choice(spec, ())
        refusals: list[tuple[str, str]] = []
        for spec in self.specs:
            if not self.serves(spec, call):
                continue
            reason = self.refusal(spec, call)
            if reason is None:
                return Choice(spec, tuple(refusals))
            refusals.append((spec.name, reason))
        tried = "; ".join(f"{name}: {reason}" for name, reason in refusals)
        raise RouteError(f"no {self._noun} takes this {self.described(call)}: {tried}")

    def explain(self, call: CallT, forced: str = AUTO) -> tuple[Verdict[SpecT], ...]:
        """Every candidate in order of preference, with what became of it for a call. Raises RouteError as `select`."""
        chosen = self.select(call, forced).spec
        return tuple(self._verdict(spec, chosen, call) for spec in self.specs)

    def _verdict(self, spec: SpecT, chosen: SpecT, call: CallT) -> Verdict[SpecT]:
        if spec is chosen:
            return Verdict(spec, "chosen", "")
        reason = self.refusal(spec, call)
        if reason is None:
            return Verdict(spec, "not needed", f"{chosen.name} is preferred")
        return Verdict(spec, "refused", reason)


def reasons_of_place(spec: Spec, call: Call) -> Iterator[str]:
    """Why a candidate does not run on a call's platform, or not in its dtype."""
    if spec.platforms and call.platform not in spec.platforms:
        yield f"runs on {either(spec.platforms)}, not on {call.platform}"
    if spec.dtypes and call.dtype not in spec.dtypes:
        yield f"computes in {either(spec.dtypes)}, not in {call.dtype}"


def reasons_of_need(spec: Spec, call: Call) -> Iterator[str]:
    """What a candidate requires and is missing."""
    for requirement, reason in call.missing:
        if requirement in spec.requires:
            yield f"needs {requirement}: {reason}"


def either(values: Sequence[object]) -> str:
    """Values as a text: "a", "a or b", "a, b or c"."""
    *others, last = map(str, values)
    return f"{', '.join(others)} or {last}" if others else last
