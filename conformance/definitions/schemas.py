"""Loads the JSON Schemas of a protocol and says, in plain words, where a value violates one."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from jsonschema import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from conformance.definitions.fitting import Fits, Fitting, Unknown
from conformance.definitions.keywords import MARKS, OWN, Validator, place, shown, words

BASE = "/"  # a schema's URI is its path below the folder, from here; references lead to such URIs
LIMIT = 5  # errors that are reported of one value

Contents = dict[str, Any] | bool
Part = str | int


@dataclass(frozen=True, slots=True)
class SchemaError:
    """One violated keyword: its place in the value, its name, a message, and the requirement.

    `requirement` is the `x-requirement` nearest above the keyword, through references; else None.
    """

    path: tuple[Part, ...]
    keyword: str
    message: str
    requirement: str | None


@dataclass(frozen=True, eq=False)
class Schema:
    """One schema, and the registry that its references, all of them absolute, are looked up in."""

    contents: Contents
    registry: Registry[Any]

    @classmethod
    def of(cls, contents: Contents) -> "Schema":
        """A schema that stands alone: its references lead into itself."""
        return cls(True, _registry({BASE: contents})).lookup(BASE)

    def lookup(self, uri: str) -> "Schema":
        """The schema at an absolute URI. Raises referencing.exceptions.Unresolvable."""
        return Schema(self.registry.resolver().lookup(uri).contents, self.registry)

    def errors(self, value: Any) -> list[SchemaError]:
        """The first few errors of a value; empty if it is valid."""
        return self.check(value)[0]

    def check(self, value: Any) -> tuple[list[SchemaError], set[str]]:
        """The first few errors of a value, and the requirements (`x-requirement`) put to the test.

        Those are the requirements of the parts of the schema that apply to the value.
        """
        marks: set[str] = set()
        with suppress(RecursionError):
            if self._fits and self._fits(value, marks):
                return [], marks
        return self.explain(value)

    def explain(self, value: Any) -> tuple[list[SchemaError], set[str]]:
        """The same, by way of jsonschema, which takes a hundred times as long."""
        marks: set[str] = set()
        token = MARKS.set(marks)
        try:
            found = list(islice(self._validator.iter_errors(value), 10 * LIMIT))
        except RecursionError:
            return [SchemaError((), "depth", "nested too deep to be checked", None)], marks
        finally:
            MARKS.reset(token)
        mistyped = [error.absolute_path for error in found if error.validator == "type"]
        told = [
            self._error(error)
            for error in found
            if error.validator not in ("const", "enum") or error.absolute_path not in mistyped
        ]
        return told[:LIMIT], marks

    @cached_property
    def _fits(self) -> Fits | None:
        try:
            return Fitting(lambda uri: self.lookup(uri).contents).of(self.contents)
        except Unknown:
            return None

    @cached_property
    def _validator(self) -> Any:
        return Validator(self.contents, registry=self.registry)

    def _error(self, error: ValidationError) -> SchemaError:
        path = tuple(error.absolute_path)
        where = f"{place(path)}: " if path else ""
        keyword = str(error.validator or "false")
        if keyword in OWN:
            message = error.message
        elif keyword == "false":
            message = f"{words(keyword, False)} was expected, {shown(error.instance)} came"
        else:
            message = f"{keyword} does not allow {shown(error.instance)}"
        requirement = self._requirement(error.absolute_schema_path)
        return SchemaError(path, keyword, where + message, requirement)

    def _requirement(self, path: Sequence[Part]) -> str | None:
        node: Any = self.contents
        found = None
        for step in (*path, None):
            mark = node.get("x-requirement") if isinstance(node, dict) else None
            found = mark if isinstance(mark, str) else found
            if step == "$ref" and isinstance(node[step], str):
                node = self.lookup(node[step]).contents
            elif step is not None:
                node = node[step]
        return found


class Schemas:
    """All schemas (`*.json`) below one folder, by their path in it: `events/handshake.json`.

    Raises ValueError, naming the file, where one is not JSON or its `$id` is not its path.
    """

    def __init__(self, folder: Path) -> None:
        files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.json")}
        self.paths = sorted(files)
        contents = {BASE + path: _read(path, files[path]) for path in self.paths}
        self._all = Schema(True, _registry(contents))
        self._schemas: dict[str, Schema] = {}

    def schema(self, path: str) -> Schema:
        """The schema of one file. Raises ValueError where there is none."""
        if path not in self._schemas:
            if path not in self.paths:
                raise ValueError(f"no schema {path!r}; there are: {', '.join(self.paths)}")
            self._schemas[path] = self._all.lookup(BASE + path)
        return self._schemas[path]

    def errors(self, path: str, value: Any) -> list[SchemaError]:
        """The first few errors of a value against the schema of one file; empty if it is valid."""
        return self.schema(path).errors(value)


def _read(path: str, file: Path) -> Contents:
    try:
        contents: Contents = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: not JSON: {error}") from error
    if isinstance(contents, dict) and contents.get("$id") != path:
        raise ValueError(f"{file}: its $id is {contents.get('$id')!r} where {path!r} belongs")
    return contents


def _registry(files: dict[str, Contents]) -> Registry[Any]:
    resources = (
        (uri, DRAFT202012.create_resource(_absolute(contents, uri)))
        for uri, contents in files.items()
    )
    registry: Registry[Any] = Registry().with_resources(resources)
    return registry


def _absolute(node: Any, uri: str) -> Any:
    """A schema whose references are absolute, and which names no address and no dialect itself.

    Where a reference enters a file with a `$schema`, jsonschema would go on with its own validator.
    """
    if isinstance(node, list):
        return [_absolute(item, uri) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: urljoin(uri, item) if key == "$ref" and isinstance(item, str) else _absolute(item, uri)
        for key, item in node.items()
        if not (key in ("$id", "$schema") and isinstance(item, str))
    }
