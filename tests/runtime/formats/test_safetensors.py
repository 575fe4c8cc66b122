"""Checkpoint folders are read as `safetensors` wrote them, and what is missing or hostile in them is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from runtime.errors import CheckpointError
from runtime.formats.safetensors import SafetensorsCheckpoint

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.tensor([1.5, float("nan")], dtype=torch.bfloat16),
    "c": torch.tensor([[2.5]], dtype=torch.float16),
}


def single(folder: Path, tensors: dict[str, torch.Tensor] = TENSORS) -> Path:
    (folder / "config.json").write_text('{"model_type": "tiny"}')
    save_file(tensors, folder / "model.safetensors")
    return folder


def sharded(folder: Path, **weight_map: object) -> Path:
    (folder / "config.json").write_text("{}")
    save_file({"a": TENSORS["a"]}, folder / "model-1.safetensors")
    save_file({"b": TENSORS["b"], "c": TENSORS["c"]}, folder / "model-2.safetensors")
    placed = {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-2.safetensors", **weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    return folder


@pytest.mark.parametrize("layout", [single, sharded])
def test_tensors_come_back_in_any_float_type(tmp_path: Path, layout: object) -> None:
    checkpoint = SafetensorsCheckpoint(layout(tmp_path))  # type: ignore[operator]
    assert list(checkpoint.names) == ["a", "b", "c"]
    for name, tensor in TENSORS.items():
        assert checkpoint.shape(name) == tuple(tensor.shape)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            out = torch.zeros(tensor.shape, dtype=dtype)
            checkpoint.read_into(name, out)
            torch.testing.assert_close(out, tensor.to(dtype), rtol=0, atol=0, equal_nan=True)


def test_tensors_of_any_type_come_back_as_they_are_stored(tmp_path: Path) -> None:
    stored = {
        "bytes": torch.arange(6, dtype=torch.uint8).view(2, 3),
        "e4m3": torch.tensor([1.5, 448.0]).to(torch.float8_e4m3fn),
        "flags": torch.tensor([True, False, True]),
        "words": torch.tensor([[-1, 2**31 - 1]], dtype=torch.int32),
    }
    checkpoint = SafetensorsCheckpoint(single(tmp_path, TENSORS | stored))
    for name, tensor in (TENSORS | stored).items():
        found = checkpoint.read(name)
        assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(found.view(torch.uint8), tensor.view(torch.uint8))
        assert checkpoint.nbytes(name) == tensor.nbytes


def test_config_is_read(tmp_path: Path) -> None:
    assert SafetensorsCheckpoint(single(tmp_path)).config == {"model_type": "tiny"}


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        SafetensorsCheckpoint(folder)
    assert str(folder) in str(caught.value)
    return str(caught.value)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    assert "not a folder" in refusal(tmp_path / "absent")
    assert "config.json: No such file" in refusal(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert "neither model.safetensors nor" in refusal(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, '{"a": \ud800}'.encode("utf-8", "surrogatepass")])
def test_a_config_that_is_no_object_is_refused(tmp_path: Path, content: str | bytes) -> None:
    single(tmp_path)
    (tmp_path / "config.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert "config.json" in refusal(tmp_path)


@pytest.mark.parametrize("length", [0, 4, 8, 40, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    file = single(tmp_path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    assert "model.safetensors" in refusal(tmp_path)


def test_a_header_that_announces_too_much_is_refused(tmp_path: Path) -> None:
    (single(tmp_path) / "model.safetensors").write_bytes((1 << 60).to_bytes(8, "little") + b"{}")
    assert "Download the checkpoint again" in refusal(tmp_path)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    (sharded(tmp_path) / "model-2.safetensors").unlink()
    assert "model-2.safetensors" in refusal(tmp_path)


def test_a_shard_that_lacks_a_promised_tensor_is_named(tmp_path: Path) -> None:
    assert "tensor 'd': model-1.safetensors does not hold it" in refusal(sharded(tmp_path, d="model-1.safetensors"))


@pytest.mark.parametrize(
    "place", ["../model.safetensors", "/etc/passwd", "sub/model.safetensors", "weights.bin", 3, ""]
)
def test_an_index_that_points_elsewhere_is_refused(tmp_path: Path, place: object) -> None:
    assert "names no shard of this folder" in refusal(sharded(tmp_path, a=place))


def test_an_index_without_a_map_is_refused(tmp_path: Path) -> None:
    (sharded(tmp_path) / "model.safetensors.index.json").write_text("{}")
    assert "no `weight_map`" in refusal(tmp_path)


def test_an_absent_tensor_another_shape_and_another_type_are_refused(tmp_path: Path) -> None:
    checkpoint = SafetensorsCheckpoint(single(tmp_path, {**TENSORS, "i": torch.tensor([1])}))
    with pytest.raises(CheckpointError, match="tensor 'x': the checkpoint has no such tensor"):
        checkpoint.shape("x")
    with pytest.raises(CheckpointError, match=r"tensor 'a': shape \(2, 3\), but config.json asks for \(3, 2\)"):
        checkpoint.read_into("a", torch.empty(3, 2))
    with pytest.raises(CheckpointError, match="tensor 'i': stored as I64"):
        checkpoint.read_into("i", torch.empty(1))
