"""Flattens a JSON Schema into plain alternatives without references and combinators.

A value is valid if it matches one of the alternatives (exactly one in a `oneOf`).

Fuel limits recursion: each step through a recursive reference costs one unit, and without fuel
there is no alternative. All values that are built from the alternatives are therefore finite.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import lcm
from typing import Any

from conformance.definitions.keywords import equal, short_json
from conformance.definitions.schemas import Contents, Schema

PLAIN = {
    *("type", "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minLength", "maxLength", "pattern", "contentEncoding", "items", "prefixItems"),
    *("minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties"),
    *("minProperties", "maxProperties", "propertyNames"),
}
COMBINATORS = {"allOf", "anyOf", "oneOf", "$ref"}
ANNOTATIONS = {"title", "description", "$comment", "examples", "default", "deprecated", "$defs"}

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class UnsupportedSchema(Exception):
    """A schema has no values, or an unsupported keyword; the text names the place."""


@dataclass(frozen=True)
class Node:
    """An alternative with plain keywords only; its parts can use the remaining `fuel`."""

    keywords: dict[str, Any]
    fuel: int

    @property
    def types(self) -> list[str]:
        """The allowed types; all types if the alternative names none."""
        named = self.keywords.get("type", TYPES)
        return [named] if isinstance(named, str) else list(named)


class Nodes:
    """The alternatives of one schema and of all schemas below it.

    Raises UnsupportedSchema at once, wherever the unsupported keyword is in the schema.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._leads: dict[str, set[str]] = {}  # the references below the target of each reference
        self._survey(root.contents, "#", set())
        self._recursive = {uri for uri in self._leads if uri in self._reach(uri)}

    def fuel(self, depth: int) -> int:
        """Return the fuel for `depth` levels of recursion; always enough for a finite value."""
        return depth + len(self._recursive) if self._recursive else 0

    def is_recursive(self, contents: Contents) -> bool:
        """Return True if values of a schema can contain values of the same kind."""
        found: set[str] = set()
        self._survey(contents, "#", found)
        return any(
            uri in self._recursive for start in found for uri in self._reach(start) | {start}
        )

    def of(self, contents: Contents, fuel: int) -> list[Node]:
        """Return the alternatives of a schema; branches with `x-open` are left out."""
        if isinstance(contents, bool):
            return [Node({}, fuel)] if contents else []
        groups = [[Node({key: contents[key] for key in contents if key in PLAIN}, fuel)]]
        if "$ref" in contents:
            uri = contents["$ref"]
            left = fuel - (uri in self._recursive)
            groups.append([] if left < 0 else self.of(self._root.lookup(uri).contents, left))
        groups += [self.of(part, fuel) for part in contents.get("allOf", ())]
        for keyword in ("oneOf", "anyOf"):
            if keyword in contents:
                branches = [branch for branch in contents[keyword] if not _is_open(branch)]
                groups.append([node for branch in branches for node in self.of(branch, fuel)])
        merged = (_merge_all(nodes) for nodes in product(*groups))
        return [node for node in merged if node is not None]

    def _survey(self, contents: Any, where: str, leads: set[str]) -> None:
        """Add the references below a schema to `leads`.

        Raises UnsupportedSchema for unsupported keywords.
        """
        for part, at in _parts(contents, where):
            self._survey(part, at, leads)
        uri = contents.get("$ref") if isinstance(contents, dict) else None
        if uri is not None:
            leads.add(uri)
            if uri not in self._leads:
                self._leads[uri] = set()
                target = self._root.lookup(uri).contents
                self._survey(target, uri if "#" in uri else f"{uri}#", self._leads[uri])

    def _reach(self, uri: str) -> set[str]:
        reached: set[str] = set()
        ahead = [uri]
        while ahead:
            for found in self._leads[ahead.pop()] - reached:
                reached.add(found)
                ahead.append(found)
        return reached


def _is_open(branch: Contents) -> bool:
    return isinstance(branch, dict) and branch.get("x-open") is True


def _parts(contents: Contents, where: str) -> Iterator[tuple[Contents, str]]:
    """Yield the schemas directly below a schema, each with its place."""
    if isinstance(contents, bool):
        return
    for keyword, value in contents.items():
        at = f"{where}/{keyword}"
        if keyword in ANNOTATIONS or keyword.startswith("x-"):
            continue
        if keyword not in PLAIN | COMBINATORS:
            raise UnsupportedSchema(f"{at.lstrip('/')}: the keyword {keyword!r} is not supported")
        if keyword == "contentEncoding" and value != "base64":
            raise UnsupportedSchema(f"{at.lstrip('/')}: the encoding {value!r} is not supported")
        if keyword == "properties":
            yield from ((value[name], f"{at}/{name}") for name in value)
        elif keyword in ("oneOf", "anyOf", "allOf", "prefixItems"):
            parts = ((part, f"{at}/{index}") for index, part in enumerate(value))
            yield from (pair for pair in parts if not _is_open(pair[0]))
        elif keyword in ("items", "additionalProperties", "propertyNames"):
            yield value, at


def are_disjoint(one: Node, other: Node) -> bool:
    """Return True if the top level shows that no value can match both alternatives.

    There are four ways to show that:

    - The alternatives allow different types.
    - They allow different constants.
    - Each requires a member that the other does not define.
    - Both require the same member, with different constants.
    """
    if not _widen_types(one.types) & _widen_types(other.types):
        return True
    values = [_constants(node.keywords) for node in (one, other)]
    if all(values):
        return not any(equal(value, entry) for value in values[0] for entry in values[1])
    if one.types != ["object"] or other.types != ["object"]:
        return False
    needs = [set(node.keywords.get("required", ())) for node in (one, other)]
    has = [node.keywords.get("properties", {}) for node in (one, other)]
    if needs[0] - has[1].keys() and needs[1] - has[0].keys():
        return True
    tags = (
        [_constants(properties.get(name)) for properties in has] for name in needs[0] & needs[1]
    )
    return any(
        all(tag) and not any(equal(value, entry) for value in tag[0] for entry in tag[1])
        for tag in tags
    )


def _constants(contents: Any) -> list[Any]:
    """Return the values that a schema lists itself in `const` or `enum`."""
    if not isinstance(contents, dict):
        return []
    return [contents["const"]] if "const" in contents else contents.get("enum", [])


def _widen_types(types: list[str]) -> set[str]:
    return {*types, "integer"} if "number" in types else set(types)


def _merge_all(nodes: tuple[Node, ...]) -> Node | None:
    merged = nodes[0].keywords
    for node in nodes[1:]:
        merged = _merge(merged, node.keywords)
    empty = merged.get("type") == [] or merged.get("enum") == []
    return None if empty else Node(merged, min(node.fuel for node in nodes))


def _merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the conjunction of the keywords of two alternatives."""
    merged = {**one, **other}
    for keyword in one.keys() & other.keys():
        merged[keyword] = _conjoin_keyword(keyword, one[keyword], other[keyword])
    arrays = [keywords.keys() & {"items", "prefixItems"} for keywords in (one, other)]
    if all(arrays) and "prefixItems" in arrays[0] | arrays[1] and one != other:
        raise UnsupportedSchema(
            "'prefixItems' together with other 'items' in an allOf is not supported"
        )
    names = [set(keywords.get("properties", ())) for keywords in (one, other)]
    for keywords, missing in ((one, names[1] - names[0]), (other, names[0] - names[1])):
        if keywords.get("additionalProperties", True) is not True and missing:
            merged["properties"] = merged["properties"] | {
                name: _conjunction(merged["properties"][name], keywords["additionalProperties"])
                for name in missing
            }
    return merged


def _conjoin_keyword(keyword: str, one: Any, other: Any) -> Any:
    """Return the conjunction of one keyword with two values."""
    if one == other:
        return one
    match keyword:
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties":
            return max(one, other)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties":
            return min(one, other)
        case "type":
            names = [[entry] if isinstance(entry, str) else entry for entry in (one, other)]
            common = _widen_types(names[0]) & _widen_types(names[1])
            narrow = common - {"integer"} if "number" in common else common
            return [name for name in TYPES if name in narrow]
        case "enum":
            return [value for value in one if any(equal(value, entry) for entry in other)]
        case "required":
            return [*one, *(name for name in other if name not in one)]
        case "uniqueItems":
            return one or other
        case "properties":
            shared = {name: _conjunction(one[name], other[name]) for name in one if name in other}
            return {**one, **other, **shared}
        case "items" | "additionalProperties" | "propertyNames":
            return _conjunction(one, other)
        case "multipleOf" if isinstance(one, int) and isinstance(other, int):
            return lcm(one, other)
    pair = f"{short_json(one)} and {short_json(other)}"
    raise UnsupportedSchema(
        f"the keyword {keyword!r} is given twice, which is not supported: {pair}"
    )


def _conjunction(one: Contents, other: Contents) -> Contents:
    return {"allOf": [one, other]}
