"""Rows of a packed embedding are decoded by a kernel: a way through the host could not be captured in a graph."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from weight_cases import WEIGHT_CASES, WeightCase

from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.reference.embedding import embedding as reference
from runtime.kernels.triton.embedding import embedding

# The embedding of a checkpoint is packed in GGUF files only: other quantisations leave it alone.
GGUF_CASES = [case for case in WEIGHT_CASES if weight_format(case.format).layout == "gguf"]


def _through_the_host(_matrix: PackedMatrix, _out: Tensor) -> None:
    raise AssertionError("decoded by torch and numpy")


@pytest.mark.parametrize("case", GGUF_CASES, ids=str)
def test_a_kernel_decodes_every_gguf_type(case: WeightCase, monkeypatch: pytest.MonkeyPatch) -> None:
    table, tokens = case.weight(), torch.tensor([2, 0, 2])
    expected = reference(table, tokens, torch.float16, 1.0)
    monkeypatch.setattr(PackedMatrix, "dequantize_into", _through_the_host)
    assert torch.equal(embedding(table, tokens, torch.float16, 1.0), expected)
