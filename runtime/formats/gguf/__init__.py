"""GGUF checkpoints: an untrusted file becomes metadata and views of its tensors, and those become floats."""

from runtime.formats.gguf.dequantize import dequantize_into
from runtime.formats.gguf.file import GGUFFile
from runtime.formats.gguf.ggml import GGMLType
from runtime.formats.gguf.tensor_table import GGUFTensor

__all__ = ["GGMLType", "GGUFFile", "GGUFTensor", "dequantize_into"]
