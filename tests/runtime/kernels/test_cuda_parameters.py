"""Parameters that are packed once are those that packing anew would give."""

from __future__ import annotations

import ctypes

import pytest
import torch

from runtime.kernels.cuda.driver import Argument, Parameters, pack_arguments


def values(packed: object, count: int) -> list[int]:
    """The parameters behind their addresses."""
    return list(packed)[count:]  # type: ignore[call-overload, no-any-return]


def test_tensors_that_lead_take_the_place_of_those_before() -> None:
    first, second, later = torch.zeros(3), torch.ones(2), torch.zeros(5, dtype=torch.int32)
    rest: tuple[Argument, ...] = (later, 7, -1, 0.5)
    parameters = Parameters((first, second, *rest))
    for leading in ((second, first), (first, later)):
        assert parameters.lead_with(*leading) is parameters
        assert list(parameters) == [*leading, *rest]
        anew = pack_arguments((*leading, *rest))
        assert values(pack_arguments(parameters), 6) == values(anew, 6)


@pytest.mark.parametrize("place", range(4))
def test_each_address_is_that_of_its_parameter(place: int) -> None:
    packed = pack_arguments(Parameters((torch.zeros(1), 1, 2.0, 3)))
    assert packed[place] == ctypes.addressof(packed) + 8 * (4 + place)
