"""Builds near misses of a schema: values that violate one keyword at one known place.

Each kind of near miss (a keyword at a place) has a few concrete samples. Only samples are kept for
which the validator finds exactly this violation. The validator alone therefore defines the meaning
of a schema, and no list of exceptions is needed here.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions.keywords import words
from conformance.definitions.schemas import Contents, Schema
from conformance.generation.kinds import (
    TOO_LONG,
    Kind,
    NearMiss,
    kind_of,
    kinds_of_keyword,
    numbers,
    other_constants,
    sampled_kind,
    texts,
)
from conformance.generation.nodes import Node, UnsupportedSchema
from conformance.generation.scalars import Form, tuples_of
from conformance.generation.values import Forms, overlap

DEPTH = 1  # levels of recursion
OF_EACH_TYPE: tuple[Any, ...] = (None, True, 0, 0.5, 1.0, "0", [], {})
UNKNOWN_TAGS: tuple[Any, ...] = ("Unknown", {"Unknown": None}, {"Unknown": {}})


@cache
def near_misses(schema: Schema) -> SearchStrategy[NearMiss]:
    """Draw invalid values of a schema, each with the one keyword that it violates.

    Raises UnsupportedSchema if valid() does, or if no near miss is known.
    """
    kinds = _Kinds(schema)
    # Each kind is checked only when it is drawn. A large schema has hundreds of kinds, of which a
    # run draws a few dozen.
    checked = [cache(partial(kinds.draw_misses, kind)) for kind in kinds.all()]
    if all(of_kind().is_empty for of_kind in checked):
        raise UnsupportedSchema(f"no near miss is known for {schema.contents}")
    known = st.sampled_from(checked).filter(lambda of_kind: not of_kind().is_empty)
    return known.flatmap(lambda of_kind: of_kind())


def sampled_misses(schema: Schema) -> Iterator[list[NearMiss]]:
    """Yield the concrete near misses of each kind; they are the same in each call.

    Raises UnsupportedSchema if valid() does.
    """
    kinds = _Kinds(schema)
    for kind in kinds.all():
        if found := kinds.confirmed_samples(kind):
            yield found


class _Kinds:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._forms = Forms(root)

    def all(self) -> Iterator[Kind]:
        self._forms.root(DEPTH)
        return self._of(self._root.contents, self._forms.nodes.fuel(DEPTH))

    def confirmed_samples(self, kind: Kind) -> list[NearMiss]:
        """Return the samples of a kind that the validator confirms."""
        around = [layer.simplest for layer in kind.layers]
        misses = (kind.miss(bad, around) for bad in kind.samples)
        return [miss for miss in misses if self._is_right(miss)]

    def draw_misses(self, kind: Kind) -> SearchStrategy[NearMiss]:
        """Draw near misses of a kind, or nothing if the validator confirms no sample."""
        samples = [miss.bad for miss in self.confirmed_samples(kind)]
        if not samples:
            return st.nothing()
        bad = st.sampled_from(samples) if kind.bad is None else kind.bad
        if kind.layers:
            layers = (layer.strategy for layer in kind.layers)
            drawn = st.tuples(bad, *layers).map(lambda parts: kind.miss(parts[0], parts[1:]))
        else:
            drawn = bad.map(lambda value: kind.miss(value, ()))
        return drawn.filter(self._is_right) if kind.doubtful else drawn

    def _is_right(self, miss: NearMiss) -> bool:
        found = [(error.keyword, error.path) for error in self._root.errors(miss.value)]
        return found == [(miss.keyword, miss.path)]

    def _of(self, contents: Contents, fuel: int) -> Iterator[Kind]:
        if contents is False:
            yield sampled_kind("false", False, (None,))
        nodes = self._forms.nodes.of(contents, fuel)
        doubtful = overlap(nodes)
        yield from self._choices(contents, nodes)
        for node in nodes:
            for kind in self._of_node(node):
                yield replace(kind, doubtful=True) if doubtful else kind

    def _choices(self, contents: Contents, nodes: list[Node]) -> Iterator[Kind]:
        """Yield values that match no branch of a oneOf, or several branches."""
        found = self._combinator(contents)
        if found is None:
            return
        keyword, branches = found
        expected = words(keyword, branches)
        mutants = [mutant for node in nodes for mutant in other_constants(node.keywords)]
        yield Kind(keyword, expected, (*mutants, *OF_EACH_TYPE, *UNKNOWN_TAGS))
        tagged: list[Form] = []
        for node in nodes:
            form = self._forms.node(node) if node.types == ["object"] else None
            if form is None:
                continue
            required = node.keywords.get("required", ())
            for name in required:
                constant = node.keywords.get("properties", {}).get(name)
                if isinstance(constant, dict) and isinstance(constant.get("const"), str):
                    other = {name: f"{constant['const']}_"}
                    yield kind_of(keyword, expected, form.map(partial(_with, other)))
            if len(required) == 1:
                tagged.append(form)
                yield kind_of(keyword, expected, form.map(partial(_rename_member, required[0])))
        for pair in pairwise(tagged):
            yield kind_of(keyword, expected, tuples_of(*pair).map(lambda both: both[0] | both[1]))

    def _combinator(self, contents: Contents) -> tuple[str, list[Contents]] | None:
        """Return the first oneOf or anyOf that applies to a value here."""
        if isinstance(contents, bool):
            return None
        for keyword in ("oneOf", "anyOf"):
            if keyword in contents:
                return keyword, contents[keyword]
        parts = list(contents.get("allOf", ()))
        if "$ref" in contents:
            parts.append(self._root.lookup(contents["$ref"]).contents)
        return next((found for part in parts if (found := self._combinator(part))), None)

    def _of_node(self, node: Node) -> Iterator[Kind]:
        keywords = node.keywords
        if not keywords:
            return
        if "type" in keywords:
            yield sampled_kind("type", keywords["type"], OF_EACH_TYPE)
        listed = [keyword for keyword in ("const", "enum") if keyword in keywords]
        for keyword in listed:
            others = (*other_constants(keywords), *OF_EACH_TYPE)
            yield sampled_kind(keyword, keywords[keyword], others)
        if listed:
            return
        if "integer" in node.types or "number" in node.types:
            yield from numbers(keywords)
        if "string" in node.types:
            yield from texts(keywords)
        if "array" in node.types:
            yield from self._arrays(node)
        if "object" in node.types:
            yield from self._objects(node)

    def _arrays(self, node: Node) -> Iterator[Kind]:
        keywords = node.keywords
        low, high = keywords.get("minItems", 0), keywords.get("maxItems")
        first = len(keywords.get("prefixItems", ()))
        if low:
            yield from kinds_of_keyword("minItems", low, self._forms.array(node, 0, low - 1))
        if high is not None and high < TOO_LONG:
            yield from kinds_of_keyword(
                "maxItems", high, self._forms.array(node, high + 1, high + 2)
            )
        if keywords.get("uniqueItems"):
            some = self._forms.array(node, max(1, low - 1), None if high is None else high - 1)
            twice = some and some.map(lambda items: [*items, items[0]])
            yield from kinds_of_keyword("uniqueItems", True, twice)
        for index, part in enumerate(
            [*keywords.get("prefixItems", ()), keywords.get("items", True)]
        ):
            if part is False:
                full = self._forms.array(node, max(low, first), first)
                yield from kinds_of_keyword(
                    "items", False, full and full.map(lambda items: [*items, None])
                )
                continue
            least = max(low, index + 1)
            most = least + 2 if high is None else min(high, least + 2)
            around = self._forms.array(node, least, most)
            if around is not None:
                beyond = Form(st.integers(0, 2) if index == first else st.just(0), 0)
                layer = tuples_of(around, beyond).map(partial(_item_from, index))
                yield from self._inside(layer, part, node.fuel)

    def _objects(self, node: Node) -> Iterator[Kind]:
        keywords = node.keywords
        properties = keywords.get("properties", {})
        extra = keywords.get("additionalProperties", True)
        for name in keywords.get("required", ()):
            yield from kinds_of_keyword("required", name, self._forms.object(node, without=name))
        unknown = self._forms.names(node)
        for name, part in {
            unknown.simplest if unknown else "x_unknown": extra,
            **properties,
        }.items():
            around = self._forms.object(node, without=name)
            if around is None:
                continue
            if part is False and name not in properties:
                wrong = around.map(partial(_with, {name: None}))
                yield from kinds_of_keyword("additionalProperties", name, wrong)
            else:
                layer = tuples_of(around, Form(st.just(name), name))
                yield from self._inside(layer, part, node.fuel)
        filler = self._forms.of(extra, node.fuel)
        if filler is None:
            return
        if "minProperties" in keywords:
            allowed = self._forms.some_names(node, keywords["minProperties"] - 1) or []
            few = dict.fromkeys(allowed, filler.simplest)
            yield sampled_kind("minProperties", keywords["minProperties"], (few, {}))
        whole = self._forms.object(node)
        if whole is not None and "propertyNames" in keywords:
            for kind in self._of(keywords["propertyNames"], node.fuel):
                bad = (name for name in kind.samples if isinstance(name, str))
                samples = (whole.simplest | {name: filler.simplest} for name in bad)
                yield Kind(kind.keyword, kind.expected, tuple(samples))
        limit = keywords.get("maxProperties", TOO_LONG)
        names = self._forms.some_names(node, 2 * limit + 1) if limit < TOO_LONG else None
        if whole is not None and names is not None:
            more = dict.fromkeys(names, filler.simplest)
            over = whole.map(lambda members: dict([*(more | members).items()][-limit - 1 :]))
            yield from kinds_of_keyword("maxProperties", limit, over)

    def _inside(self, layer: Form, contents: Contents, fuel: int) -> Iterator[Kind]:
        for kind in self._of(contents, fuel):
            yield replace(kind, layers=(layer, *kind.layers))


def _with(other: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    return members | other


def _rename_member(tag: str, members: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}_" if name == tag else name: value for name, value in members.items()}


def _item_from(first: int, drawn: tuple[list[Any], int]) -> tuple[list[Any], int]:
    items, beyond = drawn
    return items, min(first + beyond, len(items) - 1)
