"""Flattens a JSON Schema into plain alternatives, which hold no references and no combinators.

A value is valid if it fits one of the alternatives (for exactly one, where a `oneOf` says so).
Recursion is bounded by *fuel*: a step through a reference that can lead back to itself takes one,
and without fuel there is no alternative. So all that is built from the alternatives is finite.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import lcm
from typing import Any

from conformance.definitions.keywords import equal, shown
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
    """Nothing can be generated from a schema; the text names the keyword and where it stands."""


@dataclass(frozen=True)
class Node:
    """One alternative: plain keywords only; for what lies below it `fuel` is left."""

    keywords: dict[str, Any]
    fuel: int

    @property
    def types(self) -> list[str]:
        """The types it allows; all where it names none."""
        named = self.keywords.get("type", TYPES)
        return [named] if isinstance(named, str) else list(named)


class Nodes:
    """The alternatives of one schema and of all that lies below it.

    Raises UnsupportedSchema at once, whatever place of the schema the keyword stands in.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._leads: dict[str, set[str]] = {}  # reference to the references below its target
        self._survey(root.contents, "#", set())
        self._recursive = {uri for uri in self._leads if uri in self._reach(uri)}

    def fuel(self, depth: int) -> int:
        """The fuel for `depth` levels of recursion, and in any case enough for a finite value."""
        return depth + len(self._recursive) if self._recursive else 0

    def is_recursive(self, contents: Contents) -> bool:
        """Whether values of a schema can hold values of their own kind, at any depth."""
        found: set[str] = set()
        self._survey(contents, "#", found)
        return any(
            uri in self._recursive for start in found for uri in self._reach(start) | {start}
        )

    def of(self, contents: Contents, fuel: int) -> list[Node]:
        """The alternatives of a schema; branches that are `x-open` are left out."""
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
        """Refuse what is not supported; collect the references at and below a schema."""
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
    """The schemas directly below one, each with the place where it stands."""
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


def apart(one: Node, other: Node) -> bool:
    """Whether the top level already shows that no value made for one alternative fits the other.

    They allow other types, or other constants, or each requires a member that the other does not
    know, or both require one that has another constant in each.
    """
    if not _widened(one.types) & _widened(other.types):
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
    """The values that a schema lists, if it does so itself."""
    if not isinstance(contents, dict):
        return []
    return [contents["const"]] if "const" in contents else contents.get("enum", [])


def _widened(types: list[str]) -> set[str]:
    return {*types, "integer"} if "number" in types else set(types)


def _merge_all(nodes: tuple[Node, ...]) -> Node | None:
    merged = nodes[0].keywords
    for node in nodes[1:]:
        merged = _merge(merged, node.keywords)
    empty = merged.get("type") == [] or merged.get("enum") == []
    return None if empty else Node(merged, min(node.fuel for node in nodes))


def _merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The keywords of both at once."""
    merged = {**one, **other}
    for keyword in one.keys() & other.keys():
        merged[keyword] = _both(keyword, one[keyword], other[keyword])
    arrays = [keywords.keys() & {"items", "prefixItems"} for keywords in (one, other)]
    if all(arrays) and "prefixItems" in arrays[0] | arrays[1] and one != other:
        raise UnsupportedSchema("'prefixItems' beside other 'items' in an allOf is not supported")
    names = [set(keywords.get("properties", ())) for keywords in (one, other)]
    for keywords, missing in ((one, names[1] - names[0]), (other, names[0] - names[1])):
        if keywords.get("additionalProperties", True) is not True and missing:
            merged["properties"] = merged["properties"] | {
                name: _conjunction(merged["properties"][name], keywords["additionalProperties"])
                for name in missing
            }
    return merged


def _both(keyword: str, one: Any, other: Any) -> Any:
    """The conjunction of one keyword that is given twice."""
    if one == other:
        return one
    match keyword:
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties":
            return max(one, other)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties":
            return min(one, other)
        case "type":
            names = [[entry] if isinstance(entry, str) else entry for entry in (one, other)]
            common = _widened(names[0]) & _widened(names[1])
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
    pair = f"{shown(one)} and {shown(other)}"
    raise UnsupportedSchema(
        f"the keyword {keyword!r} is given twice, which is not supported: {pair}"
    )


def _conjunction(one: Contents, other: Contents) -> Contents:
    return {"allOf": [one, other]}
