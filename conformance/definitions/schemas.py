"""Loads the JSON Schemas of a protocol, and describes violations in plain words."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from conformance.definitions.matchers import Fits, Fitting, Unknown

# the URI of a schema is this base and its path below the folder; references use these URIs
BASE = "/"

Contents = dict[str, Any] | bool
Part = str | int


@dataclass(frozen=True, slots=True)
class SchemaError:
    """A violated keyword: its place in the value, its name, a message, and the requirement.

    `requirement` is the `x-requirement` nearest above the keyword, through references; else None.
    `index` is that of the first wrong character of a string, if it is known.
    """

    path: tuple[Part, ...]
    keyword: str
    message: str
    requirement: str | None
    index: int | None = None

    @property
    def place(self) -> tuple[Part, ...]:
        """The path, and the index of the wrong character."""
        return self.path if self.index is None else (*self.path, self.index)


@dataclass(frozen=True, eq=False)
class Files:
    """The targets of references: schemas by URI. All references are absolute."""

    contents: Mapping[str, Contents]

    @classmethod
    def of(cls, contents: Mapping[str, Contents]) -> "Files":
        """Make files from schemas whose references are relative to their own URI."""
        return cls({uri: _absolute(file, uri) for uri, file in contents.items()})

    def lookup(self, uri: str) -> Contents:
        """Return the schema at an absolute URI, a whole file or a part. Raises LookupError."""
        file, pointer = urldefrag(uri)
        found: Any = self.contents[file]
        for step in unquote(pointer).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found[int(key) if isinstance(found, list) and key.isdecimal() else key]
        contents: Contents = found
        return contents


@dataclass(frozen=True, eq=False)
class Schema:
    """A schema, and the files in which its absolute references are looked up."""

    contents: Contents
    files: Files

    @classmethod
    def of(cls, contents: Contents) -> "Schema":
        """Make a schema without other files; its references lead into itself."""
        return cls(True, Files.of({BASE: contents})).lookup(BASE)

    def lookup(self, uri: str) -> "Schema":
        """Return the schema at an absolute URI. Raises LookupError."""
        return Schema(self.files.lookup(uri), self.files)

    def errors(self, value: Any) -> list[SchemaError]:
        """Return the first few errors of a value; empty if the value is valid."""
        return self.check(value)[0]

    def check(self, value: Any) -> tuple[list[SchemaError], set[str]]:
        """Return the first few errors of a value, and the requirements that it exercises.

        A requirement (`x-requirement`) is exercised if its part of the schema applies to the value.
        """
        marks: set[str] = set()
        with suppress(RecursionError):
            if self._fits and self._fits(value, marks):
                return [], marks
        return self.explain(value)

    def is_wrong(self, value: Any) -> bool:
        """Return True if a value is known to be invalid; no explanation is made."""
        with suppress(RecursionError):
            return self._fits is not None and not self._fits(value, set())
        return False

    def explain(self, value: Any) -> tuple[list[SchemaError], set[str]]:
        """Return the result of `check` by jsonschema, which takes a hundred times as long."""
        # Importing this module takes longer than most commands do.
        from conformance.definitions.explanations import explain

        return explain(self, value)

    @cached_property
    def _fits(self) -> Fits | None:
        try:
            return Fitting(self.files.lookup).of(self.contents)
        except Unknown:
            return None


class Schemas:
    """All schemas (`*.json`) below one folder, by their relative paths: `events/handshake.json`.

    Raises ValueError, which names the file, if a file is not JSON or its `$id` is not its path.
    """

    def __init__(self, folder: Path) -> None:
        files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.json")}
        self.paths = sorted(files)
        contents = {BASE + path: _read(path, files[path]) for path in self.paths}
        self._all = Schema(True, Files.of(contents))
        self._schemas: dict[str, Schema] = {}

    def schema(self, path: str) -> Schema:
        """Return the schema of one file. Raises ValueError if there is no such file."""
        if path not in self._schemas:
            if path not in self.paths:
                raise ValueError(f"no schema {path!r}; known: {', '.join(self.paths)}")
            self._schemas[path] = self._all.lookup(BASE + path)
        return self._schemas[path]

    def errors(self, path: str, value: Any) -> list[SchemaError]:
        """Return the first few errors of a value against the schema of one file.

        The list is empty if the value is valid.
        """
        return self.schema(path).errors(value)


def _read(path: str, file: Path) -> Contents:
    try:
        contents: Contents = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: not JSON: {error}") from error
    if isinstance(contents, dict) and contents.get("$id") != path:
        raise ValueError(f"{file}: expected the $id {path!r}; found {contents.get('$id')!r}")
    return contents


def _absolute(node: Any, uri: str) -> Any:
    """Return a schema with absolute references, without `$id` and `$schema` of its own.

    If a reference led into a file with a `$schema`, jsonschema would continue with its own
    validator.
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
