"""What a GGUF file says is what was written, and what is not a sound file is refused in one sentence."""

from __future__ import annotations

import os
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf_writer import ARRAY, File, Tensor, small_file, string, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.errors import CheckpointError
from runtime.formats.gguf import GGMLType, GGUFFile

FLOATS = bytes(16 * 4)


def write(folder: Path, content: File | bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content if isinstance(content, bytes) else content.pack())
    return path


def refusal(folder: Path, content: File | bytes) -> str:
    path = write(folder, content)
    with pytest.raises(CheckpointError) as caught:
        GGUFFile.open(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message


def test_metadata_and_tensors_are_those_that_the_gguf_package_reads(tmp_path: Path) -> None:
    path = write(tmp_path, small_file())
    oracle = gguf.GGUFReader(path)
    with GGUFFile.open(path) as file:
        expected = {key: entry.contents() for key, entry in oracle.fields.items() if not key.startswith("GGUF.")}
        assert file.metadata.keys() == expected.keys()
        for key, found in file.metadata.items():
            assert found == expected[key], key
        for tensor in oracle.tensors:
            mine = file.tensors[tensor.name]
            assert mine.shape == tuple(int(size) for size in reversed(tensor.shape))
            assert mine.type.code == tensor.tensor_type
            assert mine.data.tobytes() == tensor.data.tobytes()
            assert mine.nbytes == tensor.n_bytes


@pytest.mark.parametrize("kind", GGMLType)
def test_blocks_have_the_sizes_of_ggml(kind: GGMLType) -> None:
    block = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind.name]]
    assert (kind.code, kind.block_size, kind.block_bytes) == (gguf.GGMLQuantizationType[kind.name], *block)


def test_types_keep_their_python_types(tmp_path: Path) -> None:
    with GGUFFile.open(write(tmp_path, small_file())) as file:
        assert file.metadata["test.bool"] is True
        assert file.metadata["test.array.bool"] == [False, True]
        assert type(file.metadata["test.u8"]) is int
        assert type(file.metadata["test.f32"]) is float


def test_version_2_reads_like_version_3(tmp_path: Path) -> None:
    with GGUFFile.open(write(tmp_path, File({"k": value("u8", 3)}, version=2))) as file:
        assert file.metadata["k"] == 3


def test_a_file_can_have_its_own_alignment(tmp_path: Path) -> None:
    metadata = {"general.alignment": value("u32", 8)}
    tensors = [Tensor("a", (3,), 0, bytes(12)), Tensor("b", (2,), 0, np.float32([1, 2]).tobytes())]
    with GGUFFile.open(write(tmp_path, File(metadata, tensors, alignment=8))) as file:
        assert file.tensors["b"].data.view(np.float32).tolist() == [1, 2]


def test_a_view_outlives_its_file(tmp_path: Path) -> None:
    with GGUFFile.open(write(tmp_path, File({}, [Tensor("a", (16,), 0, FLOATS)]))) as file:
        data = file.tensors["a"].data
    assert not file.tensors
    assert data.tobytes() == FLOATS


def test_views_cannot_be_written_to(tmp_path: Path) -> None:
    with GGUFFile.open(write(tmp_path, small_file())) as file, pytest.raises(ValueError, match="read-only"):
        file.tensors["a.weight"].data[0] = 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"GGU", "only 3 bytes are left"),
        (b"version https://git-lfs", "git lfs pull"),
        (b"tjgg\x03\0\0\0", "GGJT"),
        (b"PK\x03\x04" + bytes(40), "not a GGUF file"),
        (File(version=1), "version 1 is not supported"),
        (File(version=4), "version 4 is not supported"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (File(key_count=1 << 62), "only 0 bytes are left"),
        (File(tensor_count=1 << 62), "only 0 bytes are left"),
        (File({"a": value("string", "x" * 40)}, key_count=2), "metadata entry 2 of 2"),
        (File({"split.count": value("u16", 3)}), "one of 3 parts"),
        (File({"k": struct.pack("<I", 13)}), "value type 13 does not exist"),
        (File({"k": struct.pack("<IIQ", ARRAY, ARRAY, 1) + value("[u8]", [1])}), "array of arrays"),
        (File({"k": struct.pack("<IIQ", ARRAY, 4, 1 << 20)}), "are announced"),
        (File({"k": struct.pack("<IIQ", ARRAY, 8, 1 << 20)}), "are announced"),
        (File({"k": struct.pack("<IIQ", ARRAY, 8, (1 << 64) - 1)}), "are the limit"),
        (File({"k": struct.pack("<IQ", 8, (1 << 64) - 1)}), "are the limit"),
        (File({"k": struct.pack("<I", 8) + string(b"\xff")}), "not valid UTF-8"),
        (File({"general.alignment": value("u32", 0)}), "power of two"),
        (File({"general.alignment": value("u32", 48)}), "power of two"),
        (File({"general.alignment": value("string", "32")}), "power of two"),
        (File(tensors=[Tensor("a", (16,), 0, FLOATS), Tensor("a", (16,), 0, FLOATS)]), "name occurs twice"),
        (File(tensors=[Tensor("a", (1,) * 5, 0, FLOATS)]), "5 dimensions"),
        (File(tensors=[Tensor("a", (0, 16), 0, FLOATS)]), "a dimension is 0"),
        (File(tensors=[Tensor("a", (16,), 23, FLOATS)]), "IQ4_XS"),
        (File(tensors=[Tensor("a", (16,), 99, FLOATS)]), "type 99 (unknown)"),
        (File(tensors=[Tensor("a", (48,), 8, bytes(68))]), "no multiple of Q8_0's block of 32"),
        (File(tensors=[Tensor("a", (17,), 0, FLOATS)]), "ends at byte 68 of a data section of 64"),
        (File(tensors=[Tensor("a", (1 << 40, 1 << 40), 0, FLOATS)]), "ends at byte"),
        (File(tensors=[Tensor("a", (16,), 0, FLOATS, offset=1 << 63)]), "ends at byte"),
        (File(tensors=[Tensor("a", (16,), 0, FLOATS, offset=4)]), "not aligned"),
        (File(tensors=[Tensor("a", (16,), 0, FLOATS), Tensor("b", (8,), 0, FLOATS, offset=32)]), "overlaps"),
        (File(tensors=[Tensor("n" * 65, (16,), 0, FLOATS)]), "are the limit"),
    ],
)
def test_an_unsound_file_is_refused(tmp_path: Path, content: File | bytes, says: str) -> None:
    assert says in refusal(tmp_path, content)


def test_a_key_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    raw = File({"a": value("u8", 1), "b": value("u8", 1)}).pack().replace(string("b"), string("a"))
    assert "the key occurs twice" in refusal(tmp_path, raw)


def test_a_message_names_file_place_and_remedy(tmp_path: Path) -> None:
    message = refusal(tmp_path, File(tensors=[Tensor("blk.0.attn_q.weight", (16,), 0, FLOATS, offset=4)]))
    assert message.endswith(
        "model.gguf: offset 4 is not aligned to 32 bytes (in the entry of tensor 'blk.0.attn_q.weight', "
        "before byte 75). Convert the model again with a current llama.cpp."
    )


@pytest.mark.parametrize("name", ["absent.gguf", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckpointError):
        GGUFFile.open(tmp_path / name)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(CheckpointError, match="not a regular file"):
        GGUFFile.open(tmp_path / "pipe.gguf")


def test_a_sparse_file_that_announces_gigabytes_of_metadata_allocates_nothing_of_the_kind(tmp_path: Path) -> None:
    for announced, says in (
        (struct.pack("<IIQ", ARRAY, 0, 1 << 39), "are the limit"),
        (struct.pack("<IQ", 8, 1 << 28), "longer than 256 MiB"),
    ):
        path = write(tmp_path, File({"k": announced}, key_count=2))
        with path.open("r+b") as file:
            file.truncate(1 << 40)
        tracemalloc.start()
        with pytest.raises(CheckpointError, match=says):
            GGUFFile.open(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


SOUND = small_file().pack()


@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.sampled_from([0, 1, 9, 127, 255])), max_size=4),
    length=st.one_of(st.just(len(SOUND)), st.integers(0, len(SOUND))),
)
def test_damage_is_harmless_or_refused(tmp_path: Path, changes: list[tuple[int, int]], length: int) -> None:
    damaged = bytearray(SOUND)
    for at, byte in changes:
        damaged[at] = byte
    path = write(tmp_path, bytes(damaged[:length]))
    tracemalloc.start()
    with suppress(CheckpointError), GGUFFile.open(path) as file:
        for tensor in file.tensors.values():
            assert len(tensor.data.tobytes()) == tensor.nbytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize("length", range(0, len(SOUND), 13))
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    refusal(tmp_path, SOUND[:length])
