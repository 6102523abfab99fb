"""Comparing numbers that an application reports with numbers on the wire."""

import json

import pytest

from conformance.deltarobot.floats import EDGES, NO_NUMBERS, differs_by_byte_order, is_same


@pytest.mark.parametrize("answer", ["[0, -0, 1e-45]", "[0, 0.0, 1e-45]", "[-0.0, -0.0, 1.4e-45]"])
def test_zeros_of_other_languages(answer: str) -> None:
    assert is_same(EDGES[0], json.loads(answer))
    assert is_same(-9.6e-62, 0)  # too small for single precision


@pytest.mark.parametrize("answer", ["[0, 0, 0]", "[0, 0, -1e-45]", "[0, null, 1e-45]"])
def test_other_numbers(answer: str) -> None:
    assert not is_same(EDGES[0], json.loads(answer))
    assert not is_same(NO_NUMBERS[0], json.loads(answer))


def test_no_points() -> None:
    assert is_same([], None)
    assert not is_same([[0.0, 0.0, 0.0]], None)


def test_numbers_that_were_read_in_reverse_order() -> None:
    """Numbers read in the wrong byte order are recognised, however NaN is printed."""
    seen = [[0.0, 1.794e-43, 2.3509887e-38], [2.3510246e-38, "NaN", "NaN"]]
    assert differs_by_byte_order(EDGES[:2], seen)
    assert not is_same(EDGES[:2], seen)


def test_some_numbers_that_were_read_in_reverse_order() -> None:
    """The other numbers are correct, and at least one is in the wrong byte order."""
    assert differs_by_byte_order([1.0, 2.0, -3.0], [1.0, 8.96831017167883e-44, -3.0])
    assert not differs_by_byte_order([1.0, 2.0, -3.0], [1.5, 8.96831017167883e-44, -3.0])
    assert not differs_by_byte_order([0.0, 2.0], [0.0, 2.0])
