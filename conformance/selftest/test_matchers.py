"""The fast check and the explaining check of a schema have the same result."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.definitions import explanations, locations, protocols
from conformance.definitions.keywords import RESTRICTING
from conformance.definitions.matchers import Fitting, Unknown
from conformance.definitions.schemas import Contents, Schema, Schemas
from conformance.generation import UnsupportedSchema, valid

ODD = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        1.0,
        0.5,
        2**63,
        float("nan"),
        "",
        "nd",
        "AB==",
        [],
        [1, "1"],
        {},
        {"a": 1},
    ]
)
OWN: dict[str, Contents] = {
    "const": {"const": [1, {"a": None}]},
    "enum": {"enum": ["", 1, None]},
    "several types": {"type": ["integer", "null"]},
    "one of two": {"oneOf": [{"minimum": 0}, {"maximum": 0.5}]},
    "not": {"not": {"type": "object"}},
    "items behind a prefix": {"prefixItems": [{"const": 1}], "items": {"type": "string"}},
    "no further items": {"prefixItems": [True], "items": False},
    "names": {"propertyNames": {"maxLength": 1}, "additionalProperties": {"type": "null"}},
    "a list of itself": {"anyOf": [{"type": "number"}, {"type": "array", "items": {"$ref": "/"}}]},
}


def agree(schema: Schema, value: Any) -> None:
    marks: set[str] = set()
    fits = Fitting(lambda uri: schema.lookup(uri).contents).of(schema.contents)(value, marks)
    errors, explained = schema.explain(value)
    assert fits is (errors == [])
    assert marks == explained or not fits


@st.composite
def touched(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> Any:
    """Draw a value, and put an odd value into one place of it."""
    root = [copy.deepcopy(draw(values))]
    at: Any = root
    key: Any = 0
    while isinstance(at[key], list | dict) and at[key] and draw(st.integers(0, 9)):
        at, key = at[key], draw(st.sampled_from(_keys(at[key])))
    if draw(st.booleans()):
        at[key] = draw(ODD)
    elif at is not root:
        del at[key]
    return root[0]


def _keys(node: Any) -> list[Any]:
    return list(node) if isinstance(node, dict) else list(range(len(node)))


@pytest.mark.parametrize("name", OWN)
@given(value=touched(st.recursive(ODD, lambda inner: st.lists(inner, max_size=3))))
def test_each_keyword(name: str, value: Any) -> None:
    agree(Schema.of(OWN[name]), value)


@pytest.mark.parametrize("protocol", protocols.names())
def test_what_passes_and_what_nearly_does(protocol: str) -> None:
    folder = locations.folder("schemas", protocol)
    assert folder
    schemas = Schemas(folder)
    for path in schemas.paths:
        schema = schemas.schema(path)
        try:
            values = valid(schema, extras=True)
        except UnsupportedSchema:
            values = ODD

        @settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
        @given(st.just(schema), st.one_of(values, touched(values)))
        def check(schema: Schema, value: Any) -> None:
            agree(schema, value)

        check()


def test_every_keyword_of_the_standard_is_known() -> None:
    assert frozenset(explanations.Validator.VALIDATORS) == RESTRICTING


def test_a_keyword_without_a_function_is_told() -> None:
    with pytest.raises(Unknown, match="contains"):
        Fitting(str).of({"contains": {"const": 1}})
    assert Schema.of({"contains": {"const": 1}}).errors([2])
