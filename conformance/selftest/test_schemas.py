"""Schemas: the meaning of each keyword, and the text of errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.definitions.schemas import Schema, Schemas
from conformance.selftest.tagged import PORT

INTEGER = {"type": "integer"}
BASE64 = Schema.of({"type": "string", "contentEncoding": "base64"})
SPLIT = Schema.of({"allOf": [{"type": "integer"}, {"const": 0}]})


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("", True),
        ("AA==", True),
        ("AAA=", True),
        ("+/+/", True),
        ("AB==", False),
        ("AAB=", False),
        ("AA", False),
        ("AA=", False),
        ("A===", False),
        ("-_-_", False),
        ("AA==\n", False),
        ("AA==AA==", False),
        ("\u00e9AA=", False),
        ("====", False),
    ],
)
def test_base64_is_strict(text: str, right: bool) -> None:
    assert (BASE64.errors(text) == []) is right


@pytest.mark.parametrize(
    ("contents", "value", "right"),
    [
        (INTEGER, 1, True),
        (INTEGER, 1.0, False),
        (INTEGER, True, False),
        ({"type": "number"}, 1, True),
        ({"type": "number"}, 1.5, True),
        ({"type": "number"}, False, False),
        ({"minimum": 0}, float("nan"), False),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"multipleOf": 2}, float("inf"), False),
        ({"const": 1}, True, False),
        ({"const": 1}, 1.0, True),
        ({"enum": [[1], {"a": 0}]}, {"a": False}, False),
        ({"uniqueItems": True}, [1, True, "1", [1], [True]], True),
        ({"uniqueItems": True}, [{"a": 1}, {"a": 1.0}], False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": "^\\d$"}, "\u0663", False),
    ],
)
def test_what_keywords_mean(contents: dict[str, Any], value: Any, right: bool) -> None:
    assert (Schema.of(contents).errors(value) == []) is right


def test_how_much_a_value_has_is_told() -> None:
    """A value that is too long to be shown is described by its size."""
    [error] = Schema.of({"maxItems": 2}).errors(["x" * 500, 1, 2])
    assert error.message.endswith(", which has 3")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Smart": 21}, "Smart: expected at most 20; received 21"),
        ({"Smart": "1"}, 'Smart: expected an integer; received "1"'),
        ("none", 'expected {"Smart": …} or {"Adi": …} or "None"; received "none"'),
        ({"Other": 1}, 'expected {"Smart": …} or {"Adi": …} or "None"; received {"Other": 1}'),
        ("\x1b<script>" + "a" * 10**6, "…"),
    ],
)
def test_an_error_names_the_real_cause(value: Any, message: str) -> None:
    [error] = PORT.errors(value)
    assert message in error.message
    assert len(error.message) < 200
    assert error.message.isprintable()


def test_a_wrong_type_is_only_that() -> None:
    [error] = SPLIT.errors("0")
    assert (error.keyword, error.path) == ("type", ())


def test_hostile_values_are_errors_and_few() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    nested = Schema.of({"type": "array", "items": {"$ref": "#"}})
    [error] = nested.errors(deep)
    assert (error.keyword, error.path) == ("depth", ())
    many = Schema.of({"items": {"oneOf": [INTEGER, {"type": "null"}]}})
    assert len(many.errors(["x"] * 100_000)) == 5
    assert len(Schema.of({"maximum": 1}).errors(10**5000)) == 1


def test_the_deepest_requirement_counts(tmp_path: Path) -> None:
    port = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "types/port.json",
        "allOf": [INTEGER, {"maximum": 20, "x-requirement": "port.range"}],
    }
    touch = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "events/touch.json",
        "type": "object",
        "properties": {
            "x-requirement": {"type": "string"},
            "$ref": {"type": "string"},
            "field": {
                "x-requirement": "touch.field",
                "oneOf": [{"$ref": "../types/port.json"}, {"type": "null"}],
            },
        },
    }
    for file in (port, touch):
        path = tmp_path / str(file["$id"])
        path.parent.mkdir()
        path.write_text(json.dumps(file))
    schemas = Schemas(tmp_path)

    def blamed(value: Any) -> list[str | None]:
        return [error.requirement for error in schemas.errors("events/touch.json", value)]

    assert schemas.paths == ["events/touch.json", "types/port.json"]
    assert blamed({"field": 21}) == ["port.range"]
    assert blamed({"field": "21"}) == ["touch.field"]
    assert blamed({"field": 20.0}) == ["touch.field"]
    assert blamed({"$ref": 1, "x-requirement": 1}) == [None, None]
    assert blamed(1) == [None]
    with pytest.raises(ValueError, match=r"no schema 'touch\.json'"):
        schemas.schema("touch.json")
    (tmp_path / "types" / "odd.json").write_text('{"$id": "odd.json"}')
    with pytest.raises(ValueError, match=r"expected the \$id 'types/odd\.json'"):
        Schemas(tmp_path)


def test_a_value_that_was_seen_before_has_errors_of_its_own() -> None:
    schema = Schema.of({"type": "integer", "x-requirement": "some.rule"})
    for _ in range(2):
        for value, right in ((1, True), (1.0, False), (True, False), ("1", False)):
            errors, marks = schema.check(value)
            assert (not errors, marks) == (right, {"some.rule"})
            errors.append(errors)  # type: ignore[arg-type]
            marks.clear()
