"""What each keyword of our JSON Schemas asks of a value, and its message where that fails.

Draft 2020-12, with these readings of our own: an integer is what is written as one (1.0 is not);
`contentEncoding: base64` is strict (RFC 4648: alphabet, padding, zero trailing bits); patterns are
ASCII and `$` is the very end; NaN is within no bounds. Where no branch of a `oneOf` or `anyOf`
fits, the errors are those of the branch that was meant, if one was.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from itertools import islice
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker, ValidationError
from jsonschema.validators import create

BRANCH_LIMIT = 50  # errors of one branch that are looked at to find out whether it was meant
SHOWN = 80  # characters of a value that a message shows


def shown(value: Any, limit: int = SHOWN) -> str:
    """A value as JSON on one line, cut short; ASCII only, as it is not to be trusted."""
    text = ""
    try:
        for piece in json.JSONEncoder(default=repr).iterencode(value):
            text += piece[: limit + 1]
            if len(text) > limit:
                return f"{text[: limit - 1]}…"
    except (ValueError, TypeError):  # more digits than Python is willing to write; no JSON
        return f"{text}…"
    return text


def place(path: Sequence[str | int]) -> str:
    """A path in a value as people write it: `Touch.pos.x`, `extensions[0]`, `["odd name"]`."""
    parts = [
        f".{part}" if isinstance(part, str) and part.isidentifier() and part.isascii()
        else f"[{shown(part, 40)}]"
        for part in path
    ]  # fmt: skip
    return "".join(parts).removeprefix(".")


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """A schema's pattern; Python's own `$` would let a newline follow."""
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = pattern[:-1] + r"\Z"
    return re.compile(pattern, re.ASCII)


def words(keyword: str, limit: Any) -> str:
    """What a keyword asks for, in words that fit before "was expected"."""
    if keyword == "type":
        return " or ".join(_TYPES[name] for name in ([limit] if isinstance(limit, str) else limit))
    if keyword in ("oneOf", "anyOf"):
        text = " or ".join(dict.fromkeys(map(_label, limit)))
        return text if len(text) <= 2 * SHOWN else f"{text[: 2 * SHOWN - 1]}…"
    if keyword == "enum":
        return f"one of {shown(limit)}"
    if keyword in RULES:
        return RULES[keyword][2].format(limit if isinstance(limit, str) else shown(limit))
    named = {
        "const": "{}",
        "required": "the member {}",
        "additionalProperties": "no member {}",
        "false": "nothing",
    }
    return named.get(keyword, keyword).format(shown(limit))


def _label(branch: Any) -> str:
    """What distinguishes a branch of a oneOf from the others, as far as its top level shows."""
    if not isinstance(branch, dict):
        return "nothing" if branch is False else "anything"
    if "const" in branch:
        return shown(branch["const"])
    if "enum" in branch:
        return " or ".join(map(shown, branch["enum"]))
    if branch.get("required"):
        return f"{{{shown(branch['required'][0])}: …}}"
    if "type" in branch:
        return words("type", branch["type"])
    return str(branch.get("title") or PurePosixPath(branch.get("$ref", "another form")).stem)


# The keywords that ask one thing of one type of value: the type, whether it holds, and in words.
RULES: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda limit, value: value >= limit, "at least {}"),
    "maximum": ("number", lambda limit, value: value <= limit, "at most {}"),
    "exclusiveMinimum": ("number", lambda limit, value: value > limit, "more than {}"),
    "exclusiveMaximum": ("number", lambda limit, value: value < limit, "less than {}"),
    "multipleOf": ("number", lambda step, value: _is_multiple(value, step), "a multiple of {}"),
    "minLength": ("string", lambda n, value: len(value) >= n, "text of {} or more characters"),
    "maxLength": ("string", lambda n, value: len(value) <= n, "text of {} or fewer characters"),
    "pattern": ("string", lambda text, value: bool(regex(text).search(value)), "text like {}"),
    "contentEncoding": ("string", lambda name, value: _is_encoded(value, name), "strict {}"),
    "minItems": ("array", lambda n, value: len(value) >= n, "an array of {} or more items"),
    "maxItems": ("array", lambda n, value: len(value) <= n, "an array of {} or fewer items"),
    "uniqueItems": ("array", lambda yes, value: not yes or _unique(value), "no item twice"),
    "minProperties": ("object", lambda n, value: len(value) >= n, "{} or more members"),
    "maxProperties": ("object", lambda n, value: len(value) <= n, "{} or fewer members"),
}  # fmt: skip

KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

_TYPES = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


def _is_multiple(value: float, step: float) -> bool:
    """Decimal arithmetic: 0.3 is a multiple of 0.1."""
    exact = [Fraction(x if isinstance(x, int) else repr(x)) for x in (value, step) if isfinite(x)]
    return len(exact) == 2 and exact[0] % exact[1] == 0


def _is_encoded(value: str, name: str) -> bool:
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return name != "base64"
    return name != "base64" or base64.b64encode(data).decode() == value


def _unique(items: list[Any]) -> bool:
    return len(set(map(canonical, items))) == len(items)


def canonical(value: Any) -> Any:
    """Equal for values that JSON Schema calls equal (1 and 1.0, not 1 and true); hashable."""
    if isinstance(value, dict):
        return "object", frozenset((name, canonical(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(canonical, value))
    return ("boolean", value) if isinstance(value, bool) else value


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same to JSON Schema."""
    return bool(canonical(one) == canonical(other))


Found = Iterator[ValidationError]


def _came(keyword: str, limit: Any, instance: Any) -> ValidationError:
    return ValidationError(f"{words(keyword, limit)} was expected, {shown(instance)} came")


def _rule(keyword: str) -> Callable[..., Found]:
    kind, holds, _ = RULES[keyword]
    fits = KINDS[kind]

    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Found:
        if fits(instance) and not holds(limit, instance):
            yield _came(keyword, limit, instance)

    return check


def _type(validator: Any, types: Any, instance: Any, schema: Any) -> Found:
    if isinstance(types, str):
        fits = KINDS[types](instance)
    else:
        fits = any(KINDS[name](instance) for name in types)
    if not fits:
        yield _came("type", types, instance)


def _member_of(keyword: str) -> Callable[..., Found]:
    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Found:
        among = [limit] if keyword == "const" else limit
        if not any(equal(instance, value) for value in among):
            yield _came(keyword, limit, instance)

    return check


def _properties(validator: Any, properties: Any, instance: Any, schema: Any) -> Found:
    if isinstance(instance, dict):
        for name, part in properties.items():
            if name in instance and part is not False:
                yield from validator.descend(instance[name], part, path=name, schema_path=name)
            elif name in instance:  # jsonschema would not say where
                where: dict[str, Any] = {"path": [name], "schema_path": [name]}
                where |= {"validator": "false", "instance": instance[name]}
                yield ValidationError(_came("false", False, instance[name]).message, **where)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Found:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield _came("required", name, instance)


def _additional(validator: Any, extra: Any, instance: Any, schema: Any) -> Found:
    if extra is not False or "patternProperties" in schema:
        # jsonschema goes through them in the order of a set, which is another in each process.
        found = STANDARD["additionalProperties"](validator, extra, instance, schema)
        yield from sorted(found, key=lambda error: _place_in(instance, error))
    elif isinstance(instance, dict):
        for name in instance:
            if name not in schema.get("properties", {}):
                yield _came("additionalProperties", name, instance)


def _place_in(instance: Any, error: ValidationError) -> int:
    """The place, in its object, of the member that an error is about; first where it is of none."""
    names = list(instance)
    return names.index(error.path[0]) if error.path and error.path[0] in names else -1


def _reference(validator: Any, uri: Any, instance: Any, schema: Any) -> Found:
    for error in STANDARD["$ref"](validator, uri, instance, schema):
        error.schema_path.appendleft("$ref")  # jsonschema leaves it out; attribution follows it
        yield error


def _branches(keyword: str) -> Callable[..., Found]:
    def check(validator: Any, branches: Any, instance: Any, schema: Any) -> Found:
        fitting, applying = 0, set[str]()
        failing: list[tuple[ValidationError, Found, set[str]]] = []
        for index, branch in enumerate(branches):
            errors = validator.descend(instance, branch, schema_path=index)
            first, marks = _first(errors)
            if first is None:
                fitting += 1
                applying |= marks
            else:
                failing.append((first, errors, marks))
        outer = MARKS.get()
        if outer is not None:
            # Only where a branch fits its requirements apply to the value; if none does, any may.
            outer |= applying.union(*(marks for *_, marks in failing if not fitting))
        if fitting == 0:
            failures = [[first, *islice(more, BRANCH_LIMIT - 1)] for first, more, _ in failing]
            yield from _meant(failures) or [_came(keyword, branches, instance)]
        elif fitting > 1 and keyword == "oneOf":
            only = f"only one of {words(keyword, branches)} was expected"
            yield ValidationError(f"{only}, {shown(instance)} came, which is {fitting} of them")

    return check


def _first(errors: Found) -> tuple[ValidationError | None, set[str]]:
    """The first of the errors of a branch, if there is one, and the requirements met before it."""
    marks: set[str] = set()
    token = MARKS.set(marks)
    try:
        return next(errors, None), marks
    finally:
        MARKS.reset(token)


def _meant(failures: list[list[ValidationError]]) -> list[ValidationError]:
    """The errors of the branch that a value was meant for, or none.

    That is the only branch of its type; or else the only one of those whose tags its members have
    (and which forbids none of them); or else the only one of those whose required members it has.
    """
    left = failures
    for excludes in (_by_type, _by_member, _by_absence):
        left = [errors for errors in left if not any(map(excludes, errors))]
        if len(left) == 1:
            return left[0]
    return []


def _by_type(error: ValidationError) -> bool:
    kinds = ("type", "const", "enum", "not", "oneOf", "anyOf", None)
    return not error.path and error.validator in kinds


def _by_member(error: ValidationError) -> bool:
    tag = error.validator == "const" and isinstance(error.validator_value, str)
    return len(error.path) == 1 and (tag or error.validator == "false")


def _by_absence(error: ValidationError) -> bool:
    return not error.path and error.validator == "required"


MARKS: ContextVar[set[str] | None] = ContextVar("MARKS", default=None)
"""Where the requirements (`x-requirement`) that apply to a value are collected, if they are."""


def _mark(validator: Any, requirement: Any, instance: Any, schema: Any) -> Found:
    marks = MARKS.get()
    if marks is not None and isinstance(requirement, str):
        marks.add(requirement)
    yield from ()


STANDARD: dict[str, Any] = dict(Draft202012Validator.VALIDATORS)
OWN: dict[str, Callable[..., Found]] = {
    **{keyword: _rule(keyword) for keyword in RULES},
    **{keyword: _member_of(keyword) for keyword in ("const", "enum")},
    **{keyword: _branches(keyword) for keyword in ("oneOf", "anyOf")},
    "type": _type,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "$ref": _reference,
    "x-requirement": _mark,
}


def _checked(holds: Callable[[Any], bool]) -> Callable[[TypeChecker, Any], bool]:
    return lambda checker, value: holds(value)


Validator = create(
    meta_schema=dict(Draft202012Validator.META_SCHEMA),
    validators={**STANDARD, **OWN},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {kind: _checked(holds) for kind, holds in KINDS.items()}
    ),
)


def _descend(
    validator: Any,
    instance: Any,
    schema: Any,
    path: str | int | None = None,
    schema_path: str | int | None = None,
    resolver: Any = None,
) -> Found:
    """The errors of a part of a value, or against a part of a schema; as jsonschema's own.

    That makes a validator for each part, which takes more time than all the rest: a part may have a
    base of its own for its references. Here all of these are absolute.
    """
    if schema is False:
        yield ValidationError(f"False schema does not allow {instance!r}", instance=instance)
    for keyword, limit in () if isinstance(schema, bool) else schema.items():
        check = validator.VALIDATORS.get(keyword)
        for error in (check(validator, limit, instance, schema) or ()) if check else ():
            error._set(
                validator=keyword,
                validator_value=limit,
                instance=instance,
                schema=schema,
                type_checker=validator.TYPE_CHECKER,
            )
            if keyword not in ("if", "$ref"):
                error.schema_path.appendleft(keyword)
            if path is not None:
                error.path.appendleft(path)
            if schema_path is not None:
                error.schema_path.appendleft(schema_path)
            yield error


Validator.descend = _descend  # type: ignore[assignment,method-assign]
