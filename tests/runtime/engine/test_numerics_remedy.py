"""What a user is told to do about a value that is not finite is something that was not done yet."""

from __future__ import annotations

import pytest
import torch

from runtime.engine.numerics import FirstNonFinite


@pytest.mark.parametrize(
    ("dtype", "residual", "remedy"),
    [
        (torch.float16, torch.float16, "set model.residual_dtype to float32, or model.dtype"),
        (torch.float32, torch.float16, "set model.residual_dtype to float32, or model.dtype"),
        (torch.float16, torch.float32, "set model.dtype to float32"),
        (torch.float32, torch.float32, "the weights themselves are at fault"),
        (torch.bfloat16, torch.bfloat16, "the weights themselves are at fault"),
    ],
)
def test_the_remedy_is_wider_than_what_is_set(dtype: torch.dtype, residual: torch.dtype, remedy: str) -> None:
    probe = FirstNonFinite({0: (0, 1), 4: (1, 3)}, dtype)
    probe("embedding", torch.ones(3, 2, dtype=residual))
    probe("layers.0.mlp", torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, float("inf")]], dtype=residual))
    assert (probe.error(4).layer, probe.error(0).layer) == ("layers.0.mlp", "logits")
    stated = str(probe.error(4))
    assert stated.startswith("layers.0.mlp: a value is not finite; ")
    assert remedy in stated
