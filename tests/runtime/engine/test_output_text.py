"""Text comes out whole characters at a time, as early as is certain, and never with a part of a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.engine.output_text import TextAssembler
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.stop_strings import StopMatcher

EOS = 1000


class Pieces:
    """A tokenizer whose token `i` stands for the bytes `pieces[i]`."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces
        self.vocab_size = EOS + 1
        self.eos_ids = frozenset({EOS})
        self.bos_id: int | None = None

    def token_bytes(self, token_id: int) -> bytes:
        return b"<eos>" if token_id == EOS else self.pieces[token_id]

    def encode(self, text: str, add_special: bool = True) -> list[int]:
        raise NotImplementedError

    def decode(self, ids: Sequence[int], skip_special: bool = True) -> str:
        return b"".join(map(self.token_bytes, ids)).decode(errors="replace")

    def stream(self, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> PiecesStream:
        return PiecesStream(self)


class PiecesStream:
    def __init__(self, tokenizer: Pieces) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def step(self, token_id: int) -> str:
        return self._decoder.decode(self._tokenizer.token_bytes(token_id))

    def flush(self) -> str:
        return self._decoder.decode(b"", final=True)


def assemble(pieces: Sequence[str | bytes], **params: Any) -> tuple[list[str], str | int | None]:
    """Push one token for each piece until one stops; return what came out, the rest last, and what it stopped on."""
    texts = [piece if isinstance(piece, bytes) else piece.encode() for piece in pieces]
    assembler = TextAssembler(Pieces(texts), SamplingParams(**{"max_tokens": 999} | params))
    deltas, stopped_on = [], None
    for token, piece in enumerate(texts):
        delta = assembler.push(EOS if piece == b"<eos>" else token)
        deltas.append(delta.text)
        stopped_on = delta.stopped_on
        if stopped_on is not None:
            break
    return [*deltas, assembler.finish()], stopped_on


def test_without_stop_strings_text_comes_at_once() -> None:
    assert assemble(["Hel", "lo", " you"]) == (["Hel", "lo", " you", ""], None)


def test_half_a_character_waits_for_its_other_half() -> None:
    assert assemble([b"a\xf0\x9f", b"\x99", b"\x82b"]) == (["a", "", "🙂b", ""], None)


def test_bytes_that_never_become_a_character_come_out_at_the_end() -> None:
    assert assemble(["a", b"\xf0\x9f"]) == (["a", "", "\ufffd"], None)


@pytest.mark.parametrize(
    ("pieces", "stop", "deltas", "stopped_on"),
    [
        (["one", "\n\n", "two"], ["\n\n"], ["one", "", ""], "\n\n"),
        (["a", "ST", "O", "P", "b"], ["STOP"], ["a", "", "", "", ""], "STOP"),
        (["aSTOPb"], ["STOP"], ["a", ""], "STOP"),
        (["a", "ST", "b"], ["STOP"], ["a", "", "STb", ""], None),
        (["a", "ST"], ["STOP"], ["a", "", "ST"], None),
        (["a", "SSTOP"], ["STOP"], ["a", "S", ""], "STOP"),
        (["ab", "ab", "ac"], ["abac"], ["", "ab", "", ""], "abac"),
        (["x", "b", "c", "d"], ["bcd", "c"], ["x", "", "b", ""], "c"),
        (["x", "ab", "c"], ["abc", "bc"], ["x", "", "", ""], "abc"),
        (["x", "ab", "d"], ["abc", "b"], ["x", "a", ""], "b"),
        ([b"a\xf0\x9f", b"\x99\x82", "b"], ["🙂"], ["a", "", ""], "🙂"),
    ],
)
def test_a_stop_string_and_what_follows_it_never_come_out(
    pieces: list[str | bytes], stop: list[str], deltas: list[str], stopped_on: str | None
) -> None:
    assert assemble(pieces, stop=stop) == (deltas, stopped_on)


def test_the_stop_string_is_part_of_the_text_if_asked_for() -> None:
    assert assemble(["a", "ST", "OPb"], stop="STOP", include_stop_str_in_output=True) == (["a", "", "STOP", ""], "STOP")


@pytest.mark.parametrize(("include", "rest"), [(False, "ST"), (True, "ST<eos>")])
def test_an_end_token_releases_what_was_held_back(include: bool, rest: str) -> None:
    deltas, stopped_on = assemble(["a", "ST", "<eos>"], stop="STOP", include_stop_str_in_output=include)
    assert "".join(deltas) == "a" + rest
    assert stopped_on == EOS


def test_a_stop_token_has_no_text() -> None:
    assert assemble(["a", "b", "c"], stop_token_ids=[1]) == (["a", "", ""], 1)


def test_the_end_token_is_text_like_any_other_if_ignored() -> None:
    assert assemble(["a", "<eos>", "b"], ignore_eos=True) == (["a", "<eos>", "b", ""], None)


def test_nothing_stops_before_min_tokens() -> None:
    assert assemble([".", "<eos>", "c."], stop=".", min_tokens=2) == ([".", "<eos>", "c", ""], ".")


@pytest.mark.parametrize(
    ("pieces", "stop", "deltas"),
    [(["a-", "-b"], "--", ["a", "", ""]), (["cabad", "abaaba"], "dabaab", ["caba", "", ""])],
)
def test_a_stop_string_that_ends_after_min_tokens_counts_though_it_began_before(
    pieces: list[str], stop: str, deltas: list[str]
) -> None:
    assert assemble(pieces, stop=stop, min_tokens=1) == (deltas, stop)


def test_a_stop_string_that_did_not_count_may_begin_one_that_does() -> None:
    assert assemble(["aba", "ba"], stop="aba", min_tokens=1) == (["ab", "", ""], "aba")


def first_end(text: str, stops: Sequence[str], after: int = 0) -> tuple[int, str] | None:
    """By trying every place: where the first stop string is complete, and which; of several the longest."""
    for end in range(after + 1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            return end, max(complete, key=len)
    return None


def longest_beginning(text: str, stops: Sequence[str]) -> int:
    """By trying every length: how much of the end of `text` begins a stop string."""
    beginnings = [stop[:size] for stop in stops for size in range(len(stop))]
    return max((len(beginning) for beginning in beginnings if text.endswith(beginning)), default=0)


LETTERS = "ab" + "é🙂"  # one, two and four bytes
STOPS = st.lists(st.text(LETTERS, min_size=1, max_size=5), max_size=4)
CUT_ANYWHERE = st.text(LETTERS, max_size=30).flatmap(
    lambda text: st.lists(st.integers(0, len(text.encode())), max_size=12).map(
        lambda cuts: [text.encode()[i:j] for i, j in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True)]
    )
)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(CUT_ANYWHERE, STOPS, st.booleans(), st.integers(0, 4))
def test_all_deltas_together_are_the_text_up_to_the_first_stop(
    pieces: list[bytes], stops: list[str], include: bool, min_tokens: int
) -> None:
    deltas, stopped_on = assemble(pieces, stop=stops, include_stop_str_in_output=include, min_tokens=min_tokens)
    text = b"".join(pieces).decode()
    exempt = len(b"".join(pieces[:min_tokens]).decode(errors="ignore"))
    found = first_end(text, stops, exempt)
    if found is None:
        assert (stopped_on, "".join(deltas)) == (None, text)
    else:
        end, stop = found
        assert (stopped_on, "".join(deltas)) == (stop, text[: end if include else end - len(stop)])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(CUT_ANYWHERE, STOPS)
def test_nothing_is_held_back_without_need(pieces: list[bytes], stops: list[str]) -> None:
    assembler = TextAssembler(Pieces(pieces), SamplingParams(stop=stops))
    given_out = ""
    for token in range(len(pieces)):
        delta = assembler.push(token)
        if delta.stopped_on is not None:
            break
        given_out += delta.text
        complete = b"".join(pieces[: token + 1]).decode(errors="ignore")
        assert given_out == complete[: len(complete) - longest_beginning(complete, stops)]


def test_a_hostile_stop_string_costs_no_more_than_its_length() -> None:
    size = 20_000
    matcher = StopMatcher(("a" * size + "b", *("a" * n + "c" for n in range(1, 100))))
    assert matcher.feed("a" * size * 2) is None
    assert matcher.pending == size
    assert matcher.feed("b") == ("a" * size + "b", 1)
