"""Decides quickly if a value matches a schema; `explanations` describes the errors.

Nearly all values are valid. For them only the answer and the exercised requirements
(`x-requirement`) are needed. Each part of a schema therefore becomes one function, which is made
when it is first needed. A part with an unsupported keyword has no function.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from conformance.definitions.keywords import KINDS, RESTRICTING, RULES, canonical

Fits = Callable[[Any, set[str]], bool]
"""Returns True if a value matches; adds the exercised requirements to a set."""


class Unknown(Exception):
    """A schema has a keyword that this module does not support."""


class Fitting:
    """The functions of one set of schemas; `lookup` returns the schema at an absolute URI."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        self._lookup = lookup
        self._referred: dict[str, Fits] = {}

    def of(self, schema: Any) -> Fits:
        """Return the function of a schema. Raises Unknown for an unsupported keyword."""
        if isinstance(schema, bool):
            return lambda value, marks: schema
        parts = [
            part
            for keyword, limit in schema.items()
            if (part := self._part(keyword, limit, schema)) is not None
        ]
        if "type" in schema or not RULES.keys().isdisjoint(schema):
            return _by_type(schema, tuple(parts))
        if len(parts) == 1:
            return parts[0]
        return partial(_every, tuple(parts))

    def _part(self, keyword: str, limit: Any, schema: Any) -> Fits | None:
        """Return the function of one keyword; None if it demands nothing, or is for `_by_type`."""
        if keyword not in RESTRICTING or keyword == "type" or keyword in RULES:
            return None
        make = getattr(self, f"_{keyword.lstrip('$').replace('-', '_')}", None)
        if make is None:
            raise Unknown(keyword)
        fits: Fits | None = make(limit, schema)
        return fits

    def _x_requirement(self, requirement: Any, schema: Any) -> Fits | None:
        def fits(value: Any, marks: set[str]) -> bool:
            marks.add(requirement)
            return True

        return fits if isinstance(requirement, str) else None

    def _const(self, constant: Any, schema: Any) -> Fits:
        return self._enum([constant], schema)

    def _enum(self, values: Any, schema: Any) -> Fits:
        if all(isinstance(value, str) for value in values):
            texts = frozenset(values)
            return lambda value, marks: isinstance(value, str) and value in texts
        known = frozenset(map(canonical, values))
        return lambda value, marks: canonical(value) in known

    def _ref(self, uri: Any, schema: Any) -> Fits:
        if uri not in self._referred:
            # A schema can refer to itself, also through other schemas.
            self._referred[uri] = lambda value, marks: self._referred[uri](value, marks)
            self._referred[uri] = self.of(self._lookup(uri))
        return lambda value, marks: self._referred[uri](value, marks)

    def _allOf(self, schemas: Any, schema: Any) -> Fits:
        return partial(_every, tuple(map(self.of, schemas)))

    def _anyOf(self, branches: Any, schema: Any) -> Fits:
        return partial(_fitting, tuple(map(self.of, branches)), len(branches))

    def _oneOf(self, branches: Any, schema: Any) -> Fits:
        return partial(_fitting, tuple(map(self.of, branches)), 1)

    def _not(self, other: Any, schema: Any) -> Fits:
        fits = self.of(other)
        return lambda value, marks: not fits(value, set())

    def _properties(self, properties: Any, schema: Any) -> Fits:
        known = [(name, self.of(part)) for name, part in properties.items()]

        def fits(value: Any, marks: set[str]) -> bool:
            if isinstance(value, dict):
                for name, part in known:
                    if name in value and not part(value[name], marks):
                        return False
            return True

        return fits

    def _required(self, names: Any, schema: Any) -> Fits:
        return lambda value, marks: (
            not isinstance(value, dict) or all(name in value for name in names)
        )

    def _additionalProperties(self, extra: Any, schema: Any) -> Fits:
        if "patternProperties" in schema:
            raise Unknown("patternProperties")
        known = schema.get("properties", {})
        part = self.of(extra)

        def fits(value: Any, marks: set[str]) -> bool:
            return not isinstance(value, dict) or all(
                part(item, marks) for name, item in value.items() if name not in known
            )

        return fits

    def _propertyNames(self, names: Any, schema: Any) -> Fits:
        part = self.of(names)
        return lambda value, marks: (
            not isinstance(value, dict) or all(part(name, marks) for name in value)
        )

    def _prefixItems(self, prefix: Any, schema: Any) -> Fits:
        parts = [self.of(part) for part in prefix]

        def fits(value: Any, marks: set[str]) -> bool:
            if isinstance(value, list):
                for part, item in zip(parts, value, strict=False):
                    if not part(item, marks):
                        return False
            return True

        return fits

    def _items(self, items: Any, schema: Any) -> Fits:
        part = self.of(items)
        first = len(schema.get("prefixItems", ()))

        def fits(value: Any, marks: set[str]) -> bool:
            if isinstance(value, list):
                for item in value[first:]:
                    if not part(item, marks):
                        return False
            return True

        return fits


def _by_type(schema: Any, parts: tuple[Fits, ...]) -> Fits:
    """Return the function of a schema with a type or with rules for values of one type.

    A long curve has 100,000 numbers, so that the parts for each type are selected only once.
    """
    names = schema.get("type", [*KINDS])
    allowed = [names] if isinstance(names, str) else names
    parts_by_type: dict[type, tuple[Fits, ...]] = {}

    def select(value: Any) -> tuple[Fits, ...]:
        if not any(KINDS[name](value) for name in allowed):
            return (_never,)
        rules = (
            partial(_rule, holds, schema[keyword])
            for keyword, (kind, holds, _) in RULES.items()
            if keyword in schema and KINDS[kind](value)
        )
        return (*rules, *parts)

    def fits(value: Any, marks: set[str]) -> bool:
        selected = parts_by_type.get(type(value))
        if selected is None:
            selected = parts_by_type[type(value)] = select(value)
        return _every(selected, value, marks)

    return fits


def _rule(holds: Callable[[Any, Any], bool], limit: Any, value: Any, marks: set[str]) -> bool:
    return holds(limit, value)


def _never(value: Any, marks: set[str]) -> bool:
    return False


def _every(parts: tuple[Fits, ...], value: Any, marks: set[str]) -> bool:
    for fits in parts:  # noqa: SIM110  a generator would take longer than most parts do
        if not fits(value, marks):
            return False
    return True


def _fitting(branches: tuple[Fits, ...], most: int, value: Any, marks: set[str]) -> bool:
    """Return True if 1 to `most` branches match; only their requirements apply."""
    count = 0
    for fits in branches:
        own: set[str] = set()
        if fits(value, own):
            count += 1
            marks |= own
    return 1 <= count <= most
