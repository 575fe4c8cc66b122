"""Token counts are kept up token by token, and equal those of a fresh count."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.engine.penalties import TokenCounts

TOKENS = st.lists(st.integers(0, 300), max_size=400)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(prompt=TOKENS, output=TOKENS, cuts=st.lists(st.integers(0, 400), max_size=5))
@example(prompt=[], output=list(range(300)) * 2, cuts=[100])
def test_counts_equal_a_fresh_count_however_often_they_were_brought_up_to_date(
    prompt: list[int], output: list[int], cuts: list[int]
) -> None:
    counts = TokenCounts(prompt)
    for cut in sorted(cuts):
        counts.follow(output[:cut])
    counts.follow(output)
    found = dict(zip(counts.tokens.tolist(), counts.counts.tolist(), strict=True))
    fresh = np.bincount(output, minlength=301)
    assert found == {token: fresh[token] for token in {*prompt, *output}}
    assert len(counts.tokens) == len(found)
