"""Describes in words how a value violates a schema, with the help of jsonschema.

If no branch of a `oneOf` or `anyOf` matches, the errors are those of the intended branch, if there
is one. For valid values, `matchers` gives the same answer a hundred times as fast.
"""

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker, ValidationError
from jsonschema.validators import create
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from conformance.definitions.keywords import (
    KINDS,
    RULES,
    SIZES,
    describe_fault,
    equal,
    fault_index,
    place,
    short_json,
    words,
)
from conformance.definitions.schemas import Files, Part, Schema, SchemaError

BRANCH_LIMIT = 50  # errors of one branch that are considered to find the intended branch


LIMIT = 5  # errors of one value that are reported


def explain(schema: Schema, value: Any) -> tuple[list[SchemaError], set[str]]:
    """Return the first few errors of a value, and the requirements that it exercises."""
    marks: set[str] = set()
    token = MARKS.set(marks)
    try:
        found = list(islice(_validator(schema).iter_errors(value), 10 * LIMIT))
    except RecursionError:
        return [SchemaError((), "depth", "nested too deep to be checked", None)], marks
    finally:
        MARKS.reset(token)
    mistyped = [error.absolute_path for error in found if error.validator == "type"]
    errors = [
        _error(schema, error)
        for error in found
        if error.validator not in ("const", "enum") or error.absolute_path not in mistyped
    ]
    return errors[:LIMIT], marks


@lru_cache(256)
def _validator(schema: Schema) -> Any:
    return Validator(schema.contents, registry=_registry(schema.files))


@lru_cache(16)
def _registry(files: Files) -> Any:
    found: Registry[Any] = Registry()
    return found.with_resources(
        (uri, DRAFT202012.create_resource(contents)) for uri, contents in files.contents.items()
    )


def _error(schema: Schema, error: ValidationError) -> SchemaError:
    path = tuple(error.absolute_path)
    where = f"{place(path)}: " if path else ""
    keyword = str(error.validator or "false")
    if keyword in OWN:
        message = error.message
    elif keyword == "false":
        message = f"expected {words(keyword, False)}; received {short_json(error.instance)}"
    else:
        message = f"{keyword} does not allow {short_json(error.instance)}"
    return SchemaError(
        path,
        keyword,
        where + message,
        _requirement(schema, error.absolute_schema_path),
        fault_index(keyword, error.validator_value, error.instance),
    )


def _requirement(schema: Schema, path: Iterable[Part]) -> str | None:
    """Return the requirement nearest above a path in a schema, through references."""
    node: Any = schema.contents
    found = None
    for step in (*path, None):
        mark = node.get("x-requirement") if isinstance(node, dict) else None
        found = mark if isinstance(mark, str) else found
        if step == "$ref" and isinstance(node[step], str):
            node = schema.files.lookup(node[step])
        elif step is not None:
            node = node[step]
    return found


Found = Iterator[ValidationError]


def _violation(keyword: str, limit: Any, instance: Any, demanded: str = "") -> ValidationError:
    size = f", which has {len(instance)}" if keyword in SIZES else ""
    fault = describe_fault(keyword, limit, instance)
    came = f"{short_json(instance)}{size}{fault}"
    return ValidationError(f"expected {demanded or words(keyword, limit)}; received {came}")


def _rule(keyword: str) -> Callable[..., Found]:
    kind, holds, _ = RULES[keyword]
    fits = KINDS[kind]

    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Found:
        if fits(instance) and not holds(limit, instance):
            # A pattern can have a description in words.
            demanded = schema.get("x-words", "") if keyword == "pattern" else ""
            yield _violation(keyword, limit, instance, demanded)

    return check


def _type(validator: Any, types: Any, instance: Any, schema: Any) -> Found:
    if isinstance(types, str):
        fits = KINDS[types](instance)
    else:
        fits = any(KINDS[name](instance) for name in types)
    if not fits:
        yield _violation("type", types, instance)


def _member_of(keyword: str) -> Callable[..., Found]:
    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Found:
        among = [limit] if keyword == "const" else limit
        if not any(equal(instance, value) for value in among):
            yield _violation(keyword, limit, instance)

    return check


def _properties(validator: Any, properties: Any, instance: Any, schema: Any) -> Found:
    if isinstance(instance, dict):
        for name, part in properties.items():
            if name in instance and part is not False:
                yield from validator.descend(instance[name], part, path=name, schema_path=name)
            elif name in instance:  # jsonschema would not report the place
                where: dict[str, Any] = {"path": [name], "schema_path": [name]}
                where |= {"validator": "false", "instance": instance[name]}
                yield ValidationError(_violation("false", False, instance[name]).message, **where)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Found:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield _violation("required", name, instance)


def _additional(validator: Any, extra: Any, instance: Any, schema: Any) -> Found:
    if extra is not False or "patternProperties" in schema:
        # jsonschema iterates over a set here, whose order differs between processes.
        found = STANDARD["additionalProperties"](validator, extra, instance, schema)
        yield from sorted(found, key=lambda error: _place_in(instance, error))
    elif isinstance(instance, dict):
        for name in instance:
            if name not in schema.get("properties", {}):
                yield _violation("additionalProperties", name, instance)


def _place_in(instance: Any, error: ValidationError) -> int:
    """Return the position of the wrong member in its object; -1 if there is none."""
    names = list(instance)
    return names.index(error.path[0]) if error.path and error.path[0] in names else -1


def _reference(validator: Any, uri: Any, instance: Any, schema: Any) -> Found:
    for error in STANDARD["$ref"](validator, uri, instance, schema):
        # jsonschema leaves this step out, but the search for the requirement needs it
        error.schema_path.appendleft("$ref")
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
            # If a branch matches, only its requirements apply to the value; else those of all
            # branches.
            outer |= applying.union(*(marks for *_, marks in failing if not fitting))
        if fitting == 0:
            failures = [[first, *islice(more, BRANCH_LIMIT - 1)] for first, more, _ in failing]
            yield from _errors_of_intended_branch(failures) or [
                _violation(keyword, branches, instance)
            ]
        elif fitting > 1 and keyword == "oneOf":
            only = f"expected only one of {words(keyword, branches)}"
            yield ValidationError(
                f"{only}; received {short_json(instance)}, which is {fitting} of them"
            )

    return check


def _first(errors: Found) -> tuple[ValidationError | None, set[str]]:
    """Return the first error of a branch, if any, and the requirements met before it."""
    marks: set[str] = set()
    token = MARKS.set(marks)
    try:
        return next(errors, None), marks
    finally:
        MARKS.reset(token)


def _errors_of_intended_branch(failures: list[list[ValidationError]]) -> list[ValidationError]:
    """Return the errors of the intended branch, or an empty list if it is unclear.

    A branch is the intended one if it is the only one that passes one of these tests, in this
    order:

    - Its type is the type of the value.
    - Its tags are equal to the members of the value, and it forbids none of the members.
    - Its required members are present.
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
"""The set that collects the requirements (`x-requirement`) of a value; None if unused."""


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
    """Yield the errors of a part of a value or schema, like jsonschema's own method.

    The original creates a validator for each part, because a part can have its own base URI. Most
    of the time is spent there. The references are absolute here, so no new validator is needed.
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
