"""Builds the valid values of a schema: a strategy and one simple value."""

import json
from functools import cache
from itertools import chain, combinations, islice
from math import inf
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions.keywords import canonical, short_json
from conformance.definitions.schemas import Contents, Schema
from conformance.generation.nodes import Node, Nodes, UnsupportedSchema, are_disjoint
from conformance.generation.scalars import (
    CHARACTERS,
    MAX_DRAWN,
    Form,
    integer,
    number,
    text,
    tuples_of,
    union_of,
)

DEPTH = 4  # levels of recursion
MAX_MORE_ITEMS = 2  # additional items of a recursive array; more would make values grow endlessly
UNKNOWN = ("x_unknown", "x_future", "X-Extension")

_NAMES = st.text(CHARACTERS)
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.text(CHARACTERS, max_size=8)
)
ANYTHING = Form(
    _SCALARS | st.lists(_SCALARS, max_size=2) | st.dictionaries(_NAMES, _SCALARS, max_size=2),
    None,
)


class Forms:
    """The valid values of one schema and of all schemas below it; None if there are none.

    `extras`: objects that allow unknown members sometimes have some.
    """

    def __init__(self, root: Schema, extras: bool = False) -> None:
        self.nodes = Nodes(root)
        self._root = root
        self._extras = extras
        self._known: dict[tuple[str, int], Form | None] = {}

    def root(self, depth: int) -> Form:
        """Return the values of the whole schema, with this many levels of recursion.

        Raises UnsupportedSchema if no value is valid.
        """
        form = self.of(self._root.contents, self.nodes.fuel(depth))
        if form is None:
            raise UnsupportedSchema(f"no value is valid: {short_json(self._root.contents)}")
        return form

    def of(self, contents: Contents, fuel: int) -> Form | None:
        key = json.dumps(contents, sort_keys=True), fuel
        if key not in self._known:
            self._known[key] = self._of(contents, fuel)
        return self._known[key]

    def _of(self, contents: Contents, fuel: int) -> Form | None:
        if contents is True:
            return ANYTHING
        nodes = self.nodes.of(contents, fuel)
        forms = [form for node in nodes if (form := self.node(node)) is not None]
        form = union_of(forms)
        if form is None or overlap(nodes) is False:
            return form
        check = self.schema(contents)
        return Form(form.strategy.filter(lambda value: not check.errors(value)), form.simplest)

    def schema(self, contents: Contents) -> Schema:
        """Return a validator for a schema below the root."""
        return Schema(contents, self._root.files)

    def node(self, node: Node) -> Form | None:
        """Return the values of one alternative."""
        keywords = node.keywords
        if "const" in keywords or "enum" in keywords:
            listed = [keywords["const"]] if "const" in keywords else keywords["enum"]
            check = self.schema(keywords)
            values = [value for value in listed if not check.errors(value)]
            return Form(st.sampled_from(values), values[0]) if values else None
        if not keywords:
            return ANYTHING
        forms = (self._of_type(name, node) for name in node.types)
        return union_of([form for form in forms if form is not None])

    def _of_type(self, name: str, node: Node) -> Form | None:
        match name:
            case "null":
                return Form(st.none(), None)
            case "boolean":
                return Form(st.booleans(), False)
            case "integer":
                return integer(node.keywords)
            case "number":
                return number(node.keywords)
            case "string":
                keywords = node.keywords
                return text(keywords, keywords.get("minLength", 0), keywords.get("maxLength"))
            case "array":
                keywords = node.keywords
                return self.array(node, keywords.get("minItems", 0), keywords.get("maxItems"))
            case "object":
                return self.object(node)
        raise UnsupportedSchema(f"JSON Schema has no type {name!r}")

    def array(self, node: Node, low: int, high: int | None) -> Form | None:
        """Return arrays of `low` to `high` items."""
        prefix: list[Form] = []
        item = self.of(node.keywords.get("items", True), node.fuel)
        for part in node.keywords.get("prefixItems", ()):
            form = self.of(part, node.fuel)
            if form is None:
                item = None  # no value for this place, so the array ends before it
                break
            prefix.append(form)
        most = inf if high is None else high
        if item is None:
            most = min(most, len(prefix))
        if low > most:
            return None
        rest = self._items(node, item, max(0, low - len(prefix)), max(0, most - len(prefix)))
        if not prefix or rest is None:
            return rest
        shortest = min(low, len(prefix))
        length = Form(st.integers(shortest, int(min(most, len(prefix)))), shortest)
        return tuples_of(length, tuples_of(*prefix), rest).map(
            lambda drawn: [*drawn[1][: drawn[0]], *(drawn[2] if drawn[0] == len(prefix) else ())]
        )

    def _items(self, node: Node, item: Form | None, low: int, high: float) -> Form | None:
        if item is None or high == 0:
            return Form(st.builds(list), [])
        items = node.keywords.get("items", True)
        if self.nodes.is_recursive(items):
            high = min(high, low + MAX_MORE_ITEMS)
        most = None if high == inf else int(high)
        if node.keywords.get("uniqueItems"):
            simplest = self._distinct(items, item, low)
            if simplest is None:
                return None
            unique = st.lists(item.strategy, min_size=low, max_size=most, unique_by=canonical)
            return Form(unique, simplest)
        if low > MAX_DRAWN:
            return item.map(lambda value: [value] * low)
        items_of = st.lists(item.strategy, min_size=low, max_size=most)
        return Form(items_of, [item.simplest] * low)

    def _distinct(self, items: Contents, item: Form, count: int) -> list[Any] | None:
        check = self.schema(items)
        listed = [node.keywords.get("enum", []) for node in self.nodes.of(items, 0)]
        pool = chain([item.simplest], *listed, (False, True), range(99), map(str, range(99)))
        found = {canonical(value): value for value in pool if not check.errors(value)}
        return list(islice(found.values(), count)) if len(found) >= count else None

    def object(self, node: Node, without: str | None = None) -> Form | None:
        """Return objects without the member `without`, which can still be added."""
        keywords = node.keywords
        properties = keywords.get("properties", {})
        extra: Contents = keywords.get("additionalProperties", True)
        required = dict.fromkeys(keywords.get("required", ()))
        fixed: dict[str, Form] = {}
        optional: dict[str, Form] = {}
        for name in {**required, **properties}:
            if name != without:
                form = self.of(properties.get(name, extra), node.fuel)
                if form is not None:
                    (fixed if name in required else optional)[name] = form
                elif name in required:
                    return None
        taken = len(fixed) + (without is not None)
        least = max(0, keywords.get("minProperties", 0) - taken)
        most = keywords.get("maxProperties", inf) - taken
        if most < 0:
            return None
        more = max(0, least - len(optional))
        form = _members(fixed, optional, least - more, most)
        if extra is False:
            return None if more else form
        value = self.of(extra, node.fuel)
        if value is None or (extra is True and not more and not self._extras):
            return None if more else form
        room = max(more, most - len(optional))
        own = self.names(node)
        if extra is True or self.nodes.is_recursive(extra):
            room = max(more, min(room, MAX_MORE_ITEMS))
        names = st.sampled_from(UNKNOWN) if extra is True and more <= len(UNKNOWN) else _NAMES
        names = own.strategy if own else names
        simplest = self.some_names(node, more)
        if simplest is None:
            return None
        added = Form(
            st.dictionaries(
                names.filter(lambda name: name not in properties and name != without),
                value.strategy,
                min_size=more,
                max_size=None if room == inf else int(room),
            ),
            dict.fromkeys(simplest, value.simplest),
        )
        return tuples_of(form, added).map(lambda drawn: {**drawn[1], **drawn[0]})

    def names(self, node: Node) -> Form | None:
        """Return the allowed names of members; None if any name is allowed.

        Raises UnsupportedSchema if no name is allowed.
        """
        if "propertyNames" not in node.keywords:
            return None
        names = _names(node)
        form = self.of(names, node.fuel)
        if form is None:
            raise UnsupportedSchema(f"no name is valid: {short_json(names)}")
        return form

    def some_names(self, node: Node, count: int) -> list[str] | None:
        """Return `count` member names that the schema does not list; None if there are too few."""
        properties = node.keywords.get("properties", {})
        own = self.names(node)
        found = (
            [f"x_{index}" for index in range(count)]
            if own is None
            else self._distinct(_names(node), own, count + len(properties))
        )
        if found is None:
            return None
        return [name for name in found if name not in properties][:count]


def _names(node: Node) -> Contents:
    return {"allOf": [{"type": "string"}, node.keywords["propertyNames"]]}


def overlap(nodes: list[Node]) -> bool:
    """Return True if a value for one alternative can match another as well."""
    return not all(are_disjoint(*pair) for pair in combinations(nodes, 2))


def _members(fixed: dict[str, Form], optional: dict[str, Form], least: int, most: float) -> Form:
    """Return objects with the fixed members and `least` to `most` optional ones."""
    required = st.fixed_dictionaries({name: form.strategy for name, form in fixed.items()})
    strategies = {name: form.strategy for name, form in optional.items()}
    simplest = {
        **{name: form.simplest for name, form in fixed.items()},
        **{name: form.simplest for name, form in islice(optional.items(), least)},
    }
    if not optional or most == 0:
        return Form(required, simplest)
    if not least and most >= len(optional):
        every = {name: form.strategy for name, form in fixed.items()}
        return Form(st.fixed_dictionaries(every, optional=strategies), simplest)
    most = int(min(most, len(optional)))
    chosen = st.lists(st.sampled_from(list(optional)), min_size=least, max_size=most, unique=True)

    @st.composite
    def members(draw: st.DrawFn) -> dict[str, Any]:
        return {**draw(required), **{name: draw(strategies[name]) for name in draw(chosen)}}

    return Form(members(), simplest)


@cache
def valid(schema: Schema, extras: bool = False) -> SearchStrategy[Any]:
    """Return the valid values of a schema.

    With `extras`, objects that allow unknown members sometimes have some. Raises
    UnsupportedSchema if a keyword of the schema or of its references is not supported, and if no
    value is valid.
    """
    return Forms(schema, extras).root(DEPTH).strategy
