"""Valid values of every setting, for the properties that must hold of all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from runtime.config import FIELDS
from runtime.config.fields import FieldSpec

# Between them, rules hold that span settings; a power of two from 1 to 64 breaks none of them.
SMALL_POWERS = st.sampled_from([1, 2, 4, 8, 16, 32, 64])
ONLY_VALUE = {
    "parallel.tensor_parallel_size": 1,
    "speculative.num_draft_tokens": 0,
    "scheduler.max_num_batched_tokens": 2048,
}
BY_KIND: dict[str, st.SearchStrategy[object]] = {
    "text": st.text(min_size=1, max_size=8),
    "flag": st.booleans(),
    "integer": SMALL_POWERS,
    "bytes": st.integers(1, 2**50),
    "number": st.floats(1e-3, 1e3),
    "integers": st.lists(st.integers(1, 99), unique=True, max_size=3).map(lambda items: tuple(sorted(items))),
}


def valid(spec: FieldSpec) -> st.SearchStrategy[object]:
    """Values that one setting admits."""
    if spec.path in ONLY_VALUE:
        return st.just(ONLY_VALUE[spec.path])
    values = st.sampled_from(spec.choices) if spec.choices else BY_KIND[spec.kind]
    return st.none() | values if spec.optional else values


def explicit() -> st.SearchStrategy[dict[str, object]]:
    """Any settings, each with a valid value."""
    return st.fixed_dictionaries({}, optional={path: valid(spec) for path, spec in FIELDS.items()})
