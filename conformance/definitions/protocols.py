"""Finds protocols, and loads each from its files in ``schemas/<protocol>/``.

This module checks the form of the files. ``conformance.checks.references`` checks their references
to other files.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from conformance.definitions import locations
from conformance.definitions.protocol import (
    MessageType,
    Operation,
    Protocol,
    Requirement,
    Role,
    Setting,
    UnknownName,
)
from conformance.definitions.schemas import Schema
from conformance.exits import WrongUsage

# A mock reads these files at each start, and the pure Python loader takes 0.25 s.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BrokenProtocol(WrongUsage, ValueError):
    """Files of a protocol are wrong; the text names the file and the place."""


def names() -> list[str]:
    """Return the names of all protocols that can be found."""
    return [
        entry.name for entry in locations.folders("schemas") if (entry / "protocol.yaml").is_file()
    ]


checks: set[Callable[[Protocol], None]] = set()
"""Further checks for each loaded protocol.

Commands that receive a set of protocols add ``conformance.checks.references.check``.
"""


@cache
def load(name: str) -> Protocol:
    """Load one protocol by its name. Raises UnknownName or BrokenProtocol."""
    folder = locations.folder("schemas", name)
    if folder is None or not (folder / "protocol.yaml").is_file():
        raise UnknownName("protocol", name, names())
    raw = _yaml(folder / "protocol.yaml")
    schema = json.loads(Path(__file__).with_name("protocol.schema.json").read_text("utf-8"))
    if wrong := Schema.of(schema).errors(raw):
        raise BrokenProtocol(f"{folder / 'protocol.yaml'}: {wrong[0].message}")
    protocol = Protocol(
        name=name,
        title=raw["title"],
        address=raw.get("address", ""),
        schema_requirement=raw["schema_requirement"],
        segmentation_requirement=raw.get("segmentation_requirement", ""),
        roles={role: _role(name, role, entry) for role, entry in raw["roles"].items()},
        timings=_settings(raw["timings"]),
        ixit=_settings(raw.get("ixit", {})),
        features={key: tuple(ids) for key, ids in raw.get("features", {}).items()},
        messages={
            (entry["from"], entry["name"]): MessageType(
                entry["name"],
                entry["from"],
                entry["schema"],
                entry.get("paces", False),
                entry.get("feature", ""),
                entry.get("handled", ""),
                tuple(entry.get("to", ())),
                tuple(entry.get("shown_by", ())),
            )
            for entry in raw["messages"]
        },
        groups={group: tuple(members) for group, members in raw.get("groups", {}).items()},
        requirements=_requirements(folder / "requirements.yaml"),
        folder=folder,
    )
    for check in checks:
        check(protocol)
    return protocol


def roles() -> list[str]:
    """Return the names of all roles of all protocols, as ``PROTOCOL/ROLE``."""
    return [str(entry) for name in names() for entry in load(name).roles.values()]


def role(path: str) -> Role:
    """Return the role named ``PROTOCOL/ROLE``. Raises UnknownName."""
    protocol, _, name = path.partition("/")
    return load(protocol).role(name)


def _yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise BrokenProtocol(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        # An error text of YAML has several lines.
        raise BrokenProtocol(f"{path}: not YAML: {' '.join(str(error).split())}") from error


def _role(protocol: str, name: str, raw: dict[str, Any]) -> Role:
    return Role(
        protocol=protocol,
        name=name,
        title=raw["title"],
        peer=raw["peer"],
        serves=raw["serves"],
        transports=tuple(raw["transports"]),
        url=raw.get("url", False),
        bridge=raw.get("bridge", ""),
        channels=tuple(raw.get("channels", ())),
        ports=tuple(raw.get("ports", ())),
        upper_tester=raw.get("upper_tester", ""),
        hooks={
            key: Operation(key, entry["description"], tuple(entry.get("arguments", ())))
            for key, entry in raw.get("hooks", {}).items()
        },
        programs=raw.get("programs", {}),
        procedures=raw.get("procedures", {}),
        next_connection=raw.get("next_connection", ""),
    )


def _settings(raw: dict[str, Any]) -> dict[str, Setting]:
    return {
        key: Setting(
            key,
            entry["description"],
            entry.get("default"),
            tuple(entry.get("values", ())),
            tuple(entry.get("roles", ())),
        )
        for key, entry in raw.items()
    }


def _requirements(path: Path) -> dict[str, Requirement]:
    entries = _yaml(path)
    if not isinstance(entries, list):
        raise BrokenProtocol(f"{path}: expected a list of requirements")
    found: dict[str, Requirement] = {}
    for number, raw in enumerate(entries):
        try:
            entry = _requirement(raw)
            if entry.id in found:
                raise ValueError(f"{entry.id} occurs twice")
        except ValueError as error:
            where = raw.get("id", number) if isinstance(raw, dict) else number
            text = str(error).removeprefix(f"{where}: ")
            raise BrokenProtocol(f"{path}: {where}: {text}") from error
        found[entry.id] = entry
    return found


def _requirement(raw: Any) -> Requirement:
    """Return one requirement.

    Raises ValueError if the entry is wrong, and UnknownName if it has an unknown key.
    """
    if not isinstance(raw, dict):
        raise ValueError("expected an entry of a requirement")
    known = {member.name: member for member in fields(Requirement)}
    for key, value in raw.items():
        if key not in known:
            raise ValueError(str(UnknownName("word", str(key), list(known))))
        many = key in ("binds", "presumes")
        texts = value if many and isinstance(value, list) else [value]
        # YAML 1.1 reads a bare `no` as false, and a section can be a number.
        plain = str | int | float if key == "section" else str
        if many != isinstance(value, list) or not (
            all(isinstance(text, plain) for text in texts) or (key == "tested" and value is False)
        ):
            raise ValueError(
                f"{key}: expected {'a list of names' if many else 'a text'}; found {value!r}"
            )
    for key, member in known.items():
        if key not in raw and member.default is MISSING:
            raise ValueError(f"{key!r} is missing")
    tested = "no" if raw.get("tested") is False else raw.get("tested", "wire")
    lists = {key: tuple(raw.get(key, ())) for key in ("binds", "presumes")}
    return Requirement(**{**raw, **lists, "section": str(raw["section"]), "tested": tested})
