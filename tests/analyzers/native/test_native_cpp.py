"""Registrations in C++ source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.native.cpp_facts import read_cpp
from analyzers.native.vocabulary import Vocabulary

MACROS = Vocabulary(macros=(("TORCH_EXTENSION_NAME", "_C"),))


def test_a_library_block() -> None:
    text = """#include <torch/library.h>
TORCH_LIBRARY(v, m) {
  // m.def("gone() -> ()");
  m.def(
      "decode(Tensor q, "
      "Tensor! out) -> ()");
  m.impl("decode", torch::kCUDA, &v100::decode);
  m.def("add.out(Tensor x) -> Tensor", &add);
  m.def(TORCH_SELECTIVE_SCHEMA("v::whole(Tensor x) -> Tensor"));
  /* m.def("gone() -> ()"); */
}
TORCH_LIBRARY_IMPL(v, Meta, m) { m.impl("decode", decode_meta); }
TORCH_LIBRARY_IMPL(v, CUDA, lib) { lib.impl("whole", TORCH_FN(whole<c10::Half>)); }
"""
    found = read_cpp(text, Vocabulary())

    assert [(row.operator, row.schema, row.line) for row in found.definitions] == [
        ("v::decode", "decode(Tensor q, Tensor! out) -> ()", 4),
        ("v::add", "add.out(Tensor x) -> Tensor", 8),
        ("v::whole", "v::whole(Tensor x) -> Tensor", 9),
    ]
    assert [(row.operator, row.key, row.function) for row in found.implementations] == [
        ("v::decode", "CUDA", "v100::decode"),
        ("v::add", "", "add"),
        ("v::whole", "CUDA", "whole<c10::Half>"),
    ]
    assert [row.operator for row in found.fakes] == ["v::decode"]


@pytest.mark.parametrize(
    ("opening", "operator"),
    [
        ("TORCH_LIBRARY(v, m)", "v::a"),
        ("TORCH_LIBRARY_FRAGMENT( v , m )", "v::a"),
        ("STABLE_TORCH_LIBRARY_FRAGMENT(v, m)", "v::a"),
        ("TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m)", "_C::a"),
        ("TORCH_LIBRARY_EXPAND(CONCAT(TORCH_EXTENSION_NAME, _cache_ops), m)", "_C_cache_ops::a"),
        ("TORCH_LIBRARY_EXPAND(OTHER, m)", "OTHER::a"),
    ],
)
def test_namespaces(opening: str, operator: str) -> None:
    assert [row.operator for row in read_cpp(f'{opening} {{ m.def("a() -> ()"); }}', MACROS).definitions] == [operator]


@pytest.mark.parametrize(
    "text",
    [
        '// TORCH_LIBRARY(v, m) { m.def("a() -> ()"); }',
        'const char* s = "TORCH_LIBRARY(v, m) { m.def() }";',
        '#define MY_LIBRARY(name, m) \\\n  TORCH_LIBRARY(name, m) { m.def("a() -> ()"); }',
        'TORCH_LIBRARY(v, m);\nvoid f() { m.def("a() -> ()"); }',
        'TORCH_LIBRARY(v, m) { other.def("a() -> ()"); m.def(name); }',
        'TORCH_LIBRARY(v, m) { } void g() { m.def("a() -> ()"); }',
        'R"x(TORCH_LIBRARY(v, m) { m.def("a"); })x"',
    ],
)
def test_what_defines_nothing(text: str) -> None:
    assert read_cpp(text, Vocabulary()).definitions == []


@pytest.mark.parametrize(
    ("argument", "function"),
    [
        ("&decode", "decode"),
        ("decode", "decode"),
        ("TORCH_FN(ns::decode)", "ns::decode"),
        ("TORCH_BOX(&decode)", "decode"),
        ("torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(decode))", "decode"),
    ],
)
def test_functions(argument: str, function: str) -> None:
    found = read_cpp(f'TORCH_LIBRARY(v, m) {{ m.impl("a", {argument}); }}', Vocabulary())

    assert [row.function for row in found.implementations] == [function]


def test_a_lambda_is_no_function_to_compare() -> None:
    assert (
        read_cpp('TORCH_LIBRARY(v, m) { m.def("a", [](int x) { return f(x); }); }', Vocabulary()).implementations == []
    )


@given(st.text(alphabet='TORCH_LIBRARY(v, m){}"\\/*\n;.def&R', max_size=200))
def test_broken_source_neither_fails_nor_hangs(text: str) -> None:
    read_cpp(f"TORCH_LIBRARY(v, m) {{ {text}", Vocabulary())


@pytest.mark.parametrize(
    "piece",
    [
        'R"(',
        "TORCH_LIBRARY(",
        "TORCH_LIBRARY(v, m) {",
        "m.def(",
        "/*",
        "#define \\\n",
        "{",
        ")",
        "TORCH_LIBRARY(v, m) x",
    ],
)
def test_a_large_hostile_file_takes_no_more_than_its_length(piece: str) -> None:
    read_cpp("TORCH_LIBRARY(v, m) {\n" + piece * 100_000, Vocabulary())
