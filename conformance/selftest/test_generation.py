"""Generated messages have the declared properties, and the schemas judge them accordingly."""

import json
from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from conformance.definitions import locations
from conformance.definitions.schemas import Schema, Schemas
from conformance.generation import NearMiss, UnsupportedSchema, near_misses, valid
from conformance.selftest.tagged import PORT

INTEGER = {"type": "integer"}
TREE = Schema.of(
    {
        "type": "object",
        "required": ["label", "children"],
        "properties": {
            "label": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#"}},
        },
    }
)
CHAIN = Schema.of(
    {
        "$ref": "#/$defs/link",
        "$defs": {
            "link": {
                "type": "object",
                "required": ["next"],
                "properties": {"next": {"oneOf": [{"$ref": "#/$defs/link"}, {"type": "null"}]}},
            }
        },
    }
)

# For each schema, the keywords that its near misses must break.
EXAMPLES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "null": ({"type": "null"}, {"type"}),
    "boolean": ({"type": "boolean"}, {"type"}),
    "integer": ({"type": "integer", "minimum": 1, "maximum": 21}, {"type", "minimum", "maximum"}),
    "far integer": ({"type": "integer", "minimum": 2**40}, {"type", "minimum"}),
    "open interval": (
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 2.5},
        {"type", "exclusiveMinimum", "exclusiveMaximum"},
    ),
    "multiple": ({"type": "integer", "multipleOf": 3, "minimum": 1}, {"multipleOf", "minimum"}),
    "number": ({"type": "number"}, {"type"}),
    "interval": (
        {"type": "number", "minimum": -0.1, "exclusiveMaximum": 1},
        {"type", "minimum", "exclusiveMaximum"},
    ),
    "nullable": ({"type": ["integer", "null"], "maximum": 3}, {"type", "maximum"}),
    "const": ({"type": "integer", "const": 1}, {"type", "const"}),
    "bare const": ({"const": "Ready"}, {"const"}),
    "enum": ({"type": "string", "enum": ["Red", "Green"]}, {"type", "enum"}),
    "text": (
        {"type": "string", "minLength": 2, "maxLength": 5},
        {"type", "minLength", "maxLength"},
    ),
    "long text": ({"type": "string", "minLength": 500}, {"minLength"}),
    "class": (
        {"type": "string", "pattern": "^[0-9a-f]+$", "minLength": 2, "maxLength": 4},
        {"pattern", "minLength", "maxLength"},
    ),
    "pattern": ({"type": "string", "pattern": "^v[0-9]+(\\.[0-9]+)*$"}, {"type", "pattern"}),
    "base64": ({"type": "string", "contentEncoding": "base64"}, {"type", "contentEncoding"}),
    "bounded base64": (
        {"type": "string", "contentEncoding": "base64", "minLength": 5, "maxLength": 9},
        {"contentEncoding", "minLength", "maxLength"},
    ),
    "patterned base64": (
        {"type": "string", "contentEncoding": "base64", "pattern": "^(.{4})*(.{2}==)$"},
        {"contentEncoding", "pattern"},
    ),
    "array": (
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
        {"type", "minItems", "maxItems"},
    ),
    "set": (
        {"type": "array", "items": {"enum": [0, 1, 2]}, "uniqueItems": True, "minItems": 2},
        {"uniqueItems", "minItems", "enum"},
    ),
    "tuple": (
        {"type": "array", "prefixItems": [INTEGER, {"type": "string"}], "items": False},
        {"type", "items"},
    ),
    "open tuple": (
        {"type": "array", "prefixItems": [{"const": "see"}], "items": INTEGER, "minItems": 2},
        {"type", "const", "minItems"},
    ),
    "object": (
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": INTEGER, "b": {"type": "string"}},
            "additionalProperties": False,
        },
        {"type", "required", "additionalProperties"},
    ),
    "forbidden member": ({"type": "object", "properties": {"a": False}}, {"type", "false"}),
    "map": (
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 4},
        {"type", "minProperties", "maxProperties"},
    ),
    "map of numbers": (
        {
            "type": "object",
            "propertyNames": {"pattern": "^(0|[1-9][0-9]*)$"},
            "additionalProperties": INTEGER,
            "minProperties": 2,
        },
        {"type", "minProperties", "pattern"},
    ),
    "choice of members": (
        {
            "type": "object",
            "properties": {"a": INTEGER, "b": INTEGER, "c": INTEGER},
            "minProperties": 1,
            "maxProperties": 2,
        },
        {"type", "minProperties", "maxProperties"},
    ),
    "two tags": (
        {"type": "array", "items": {"$ref": "#/$defs/port"}, "$defs": {"port": PORT.contents}},
        {"type", "oneOf", "minimum", "maximum", "maxProperties"},
    ),
    "inner tag": (
        {
            "oneOf": [
                {
                    "type": "object",
                    "required": ["kind", "value"],
                    "properties": {"kind": {"const": kind}, "value": {"type": of}},
                }
                for kind, of in (("text", "string"), ("count", "integer"))
            ]
        },
        {"oneOf", "type", "required"},
    ),
    "overlap": (
        {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 3}]},
        {"oneOf"},
    ),
    "any of": (
        {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "string", "minLength": 1}]},
        {"anyOf", "maximum", "minLength"},
    ),
    "all of": (
        {
            "allOf": [
                {"type": ["integer", "null"], "minimum": 0, "maximum": 100},
                {"type": "number", "maximum": 10},
            ]
        },
        {"maximum", "minimum"},
    ),
    "split": ({"allOf": [{"type": "integer"}, {"const": 0}]}, {"type", "const"}),
    "tree": (dict(TREE.contents), {"type", "required"}),  # type: ignore[arg-type]
    "chain": (dict(CHAIN.contents), {"type", "required", "oneOf"}),  # type: ignore[arg-type]
}
SCHEMAS = {name: Schema.of(contents) for name, (contents, _) in EXAMPLES.items()}

quick = settings(
    max_examples=30, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
search = settings(max_examples=2000, deadline=None, database=None, derandomize=True)


def smallest(
    schema: Schema, keyword: str, holds: Callable[[NearMiss], bool] = lambda miss: True
) -> NearMiss:
    return find(
        near_misses(schema), lambda miss: miss.keyword == keyword and holds(miss), settings=search
    )


def verdict(schema: Schema, value: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(error.keyword, error.path) for error in schema.errors(value)]


@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_valid_values_are_valid(name: str, extras: bool) -> None:
    @quick
    @given(valid(SCHEMAS[name], extras=extras))
    def check(value: Any) -> None:
        assert SCHEMAS[name].errors(value) == []
        json.dumps(value, allow_nan=False).encode()

    check()


@pytest.mark.parametrize("name", EXAMPLES)
def test_near_misses_violate_just_what_they_say(name: str) -> None:
    @quick
    @given(near_misses(SCHEMAS[name]))
    def check(miss: NearMiss) -> None:
        assert verdict(SCHEMAS[name], miss.value) == [(miss.keyword, miss.path)]

    check()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_keyword_has_a_near_miss(name: str) -> None:
    found: set[str] = set()

    @settings(quick, max_examples=200, derandomize=True)
    @given(near_misses(SCHEMAS[name]))
    def collect(miss: NearMiss) -> None:
        found.add(miss.keyword)

    collect()
    assert found >= EXAMPLES[name][1]


@pytest.mark.parametrize(
    ("name", "keyword", "value", "path", "expected"),
    [
        ("integer", "minimum", 0, (), "at least 1"),
        ("integer", "maximum", 22, (), "at most 21"),
        ("text", "minLength", "", (), "text of 2 or more characters"),
        ("text", "maxLength", "000000", (), "text of 5 or fewer characters"),
        ("array", "minItems", [], (), "an array of 1 or more items"),
        ("array", "type", None, (), "an array"),
        ("object", "required", {}, (), 'the member "a"'),
        (
            "object",
            "additionalProperties",
            {"a": 0, "x_unknown": None},
            (),
            'no member "x_unknown"',
        ),
        ("two tags", "maximum", [{"Smart": 21}], (0, "Smart"), "at most 20"),
        ("tree", "required", {"label": ""}, (), 'the member "children"'),
    ],
)
def test_near_misses_shrink(
    name: str, keyword: str, value: Any, path: tuple[str | int, ...], expected: str
) -> None:
    def wanted(miss: NearMiss) -> bool:
        return (miss.path, miss.expected) == (path, expected)

    assert smallest(SCHEMAS[name], keyword, wanted).value == value


def test_a_near_miss_of_base64_is_of_each_sort() -> None:
    schema = SCHEMAS["base64"]
    assert smallest(schema, "contentEncoding", lambda miss: "-" in miss.value).value == "-A=="
    assert smallest(schema, "contentEncoding", lambda miss: "=" not in miss.value).value == "AA"
    assert smallest(schema, "contentEncoding", lambda miss: miss.value[:2] == "AB").value == "AB=="


def test_a_near_miss_of_tags_is_of_each_sort() -> None:
    assert smallest(PORT, "oneOf", lambda miss: miss.value == {"Smart_": 0}).path == ()
    assert smallest(PORT, "oneOf", lambda miss: miss.value == {"Smart": 0, "Adi": 0}).path == ()
    assert smallest(PORT, "oneOf", lambda miss: miss.value == "nONE").path == ()


@quick
@given(st.data(), st.integers(1, 3))
def test_strategies_can_be_built_while_a_test_runs(data: st.DataObject, digits: int) -> None:
    schema = Schema.of({"type": "string", "pattern": f"^v[0-9]{{{digits}}}(a|b)"})
    assert schema.errors(data.draw(valid(schema))) == []
    assert schema.errors(data.draw(near_misses(schema)).value) != []


def test_an_open_branch_is_neither_generated_nor_a_near_miss() -> None:
    known = {"type": "object", "required": ["A"], "properties": {"A": INTEGER}, "maxProperties": 1}
    unknown = {"x-open": True, "type": "object", "properties": {"A": False}, "maxProperties": 1}
    schema = Schema.of({"oneOf": [known, unknown]})
    assert schema.errors({"B": 1}) == []
    assert verdict(schema, {"A": "1"}) == [("type", ("A",))]

    @quick
    @given(valid(schema), near_misses(schema))
    def check(value: Any, miss: NearMiss) -> None:
        assert list(value) == ["A"]
        assert verdict(schema, miss.value) == [(miss.keyword, miss.path)]

    check()


@pytest.mark.parametrize(
    ("schema", "least"), [(TREE, {"label": "", "children": []}), (CHAIN, {"next": None})]
)
def test_recursion_ends_and_shrinks(schema: Schema, least: Any) -> None:
    assert find(valid(schema), lambda value: True) == least
    text = json.dumps
    deep = find(valid(schema), lambda value: text(value).count("{") > 2)
    assert text(deep).count("{") == 3


def test_extras_are_unknown_members_of_open_objects() -> None:
    schema = Schema.of({"type": "object", "properties": {"a": INTEGER}})
    found = find(
        valid(schema, extras=True),
        lambda value: any(name != "a" for name in value),
        settings=search,
    )
    assert found == {"x_unknown": None}
    with pytest.raises(NoSuchExample):
        find(valid(schema), lambda value: any(name != "a" for name in value), settings=quick)


@pytest.mark.parametrize("limit", [2**31 - 1, -(2**31), 255, 256, -1])
def test_integers_reach_the_edges(limit: int) -> None:
    found = find(valid(Schema.of(INTEGER)), lambda value: value == limit, settings=search)
    assert found == limit


@pytest.mark.parametrize(
    ("contents", "named"),
    [
        ({"minimun": 1}, "#/minimun: the keyword 'minimun'"),
        ({"properties": {"a": {"items": {"format": "uri"}}}}, "#/properties/a/items/format"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"not": {}}}}, "#/$defs/a/not"),
        ({"type": "string", "contentEncoding": "base32"}, "'base32'"),
        ({"type": "number", "multipleOf": 0.5}, "'multipleOf'"),
        ({"allOf": [{"pattern": "a"}, {"pattern": "b"}]}, "'pattern' is given twice"),
        (False, "no value is valid"),
    ],
)
@pytest.mark.parametrize("build", [valid, near_misses])
def test_what_is_not_supported_is_named_at_once(
    build: Callable[[Schema], Any], contents: Any, named: str
) -> None:
    with pytest.raises(UnsupportedSchema) as refusal:
        build(Schema.of(contents))
    assert named in str(refusal.value)


DRAWN_FROM = {
    "deltarobot": "*.json",
    "simspark": "commands/[!c]*.json",  # each command, but not the choice of all
    "vexide": "*.json",
}
"""The schemas from which test cases draw; other schemas only judge."""


@pytest.mark.parametrize("protocol", DRAWN_FROM)
def test_every_schema_that_is_drawn_from(protocol: str) -> None:
    folder = locations.folder("schemas", protocol)
    assert folder
    schemas = Schemas(folder)
    names = [name for name in schemas.paths if fnmatch(name, DRAWN_FROM[protocol])]
    assert len(names) >= 10
    for name in names:
        schema = schemas.schema(name)

        @settings(quick, max_examples=8)
        @given(st.just(schema), valid(schema, extras=True), near_misses(schema))
        def check(schema: Schema, value: Any, miss: NearMiss) -> None:
            assert schema.errors(value) == []
            assert verdict(schema, miss.value) == [(miss.keyword, miss.path)]

        check()
