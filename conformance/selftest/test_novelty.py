"""Drawn examples: those that cover no new pair of features are left out."""

import asyncio

import pytest
from hypothesis import strategies as st

from conformance.cases import explore
from conformance.generation.novelty import MAX_FEATURES, Novelty
from conformance.iut import Iut
from conformance.selftest.test_drawn_examples import connecting


@pytest.mark.parametrize(
    ("first", "second", "new"),
    [
        ({"a": 4, "b": 1}, {"a": 5, "b": 1}, False),
        ({"a": 4, "b": 1}, {"a": 8, "b": 1}, True),
        ({"a": 4}, {"a": -4}, True),
        ({"a": 4}, {"a": 4.0}, True),
        ({"a": 0.5}, {"a": 0.75}, False),
        ({"a": 0.0}, {"a": -0.0}, True),
        ({"a": "abc"}, {"a": "xyz"}, False),
        ({"a": "abc"}, {"a": "ab\n"}, True),
        ({"a": "abc"}, {"a": "abć"}, False),
        ({"a": b"x"}, {"a": b"\xff"}, True),
        ({"a": [1, 1]}, {"a": [1, 1, 1]}, False),
        ({"a": None}, {}, True),
        ({"a": True}, {"a": 1}, True),
    ],
)
def test_an_example_is_new_if_a_feature_is(first: object, second: object, new: bool) -> None:
    novelty = Novelty()
    assert novelty.add(first)
    assert not novelty.add(first)
    assert novelty.add(second) == new


def test_pairs_of_features_count() -> None:
    """An example is new if two of its features have not come together before."""
    novelty = Novelty()
    assert novelty.add({"a": True, "b": True})
    assert novelty.add({"a": False, "b": False})
    assert novelty.add({"a": True, "b": False})
    assert novelty.add({"a": False, "b": True})
    assert not novelty.add({"a": True, "b": True})


def test_large_and_deep_examples_are_bounded() -> None:
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    assert Novelty().add(deep)
    assert Novelty().add({str(number): number for number in range(100 * MAX_FEATURES)})


def played(iut: Iut, values: st.SearchStrategy[object]) -> list[object]:
    """Return the examples of a test that passes."""
    tried: list[object] = []

    @explore(value=values)
    async def passes(iut: Iut, value: object) -> None:
        tried.append(value)

    asyncio.run(passes(iut))  # type: ignore[arg-type]
    return tried


def test_a_small_space_is_covered_once() -> None:
    assert sorted(map(str, played(connecting(), st.booleans()))) == ["False", "True"]


def test_a_large_space_gets_all_examples_and_the_same_ones_again() -> None:
    iut = connecting()
    first = played(iut, st.dictionaries(st.text(), st.integers()))
    assert len(first) == iut.configuration.examples
    assert first == played(connecting(), st.dictionaries(st.text(), st.integers()))
