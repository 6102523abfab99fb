"""Search the source text of a protocol's mocks for required definitions and known names."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import mocks
from conformance.definitions.protocol import Protocol, Role, UnknownName

_CLASS = r"^class {}(?:\((.*?)\))?:\n(.*?)(?=^[^\s)#]|\Z)"
_METHOD = re.compile(r"^    ((?:@.*\n    )*)(?:async )?def (\w+)\(", re.MULTILINE)
_IMPORT = re.compile(r"^from (mocks[.\w]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
_PEER = re.compile(r"^PEER = (\w+)$", re.MULTILINE)
_SECTIONS = ("timing", "hooks", "programs", "procedures", "ixit")


def problems(protocol: Protocol, texts: Mapping[str, str], folder: str) -> Iterator[str]:
    """Yield the errors in a protocol's mocks; each line begins with the file.

    ``texts`` maps the path of each Python file in ``folder`` to its text.
    """
    for role in protocol.roles.values():
        module = os.path.join(folder, role.name.replace("-", "_"))
        text = texts.get(f"{module}.py")
        if text is None:
            continue  # no mock plays this role
        for name in ("PEER", "options", "main"):
            if not re.search(rf"\b{name}\b", text):
                yield f"{module}.py: {name} is missing"
        if peer := _PEER.search(text):
            for problem in _missing_methods(text, peer[1]):
                yield f"{module}.py: {peer[1]} {problem}"
        if os.path.exists(f"{module}.toml"):
            for problem in _configuration(protocol, role, Path(f"{module}.toml")):
                yield f"{module}.toml: {problem}"


def _missing_methods(text: str, name: str) -> Iterator[str]:
    """Yield the abstract methods that a class inherits and does not define."""
    abstract: set[str] = set()
    own: list[str] = []
    waiting, seen = [(text, name)], set()
    while waiting:
        text, name = waiting.pop()
        if (found := _class_text(text, name)) is None or found in seen:
            continue
        seen.add(found)
        bases, body, where = found
        for decorators, method in _METHOD.findall(body):
            (abstract.add if "abstractmethod" in decorators else own.append)(method)
        waiting += [(where, base.strip()) for base in bases.split(",")]
    for method in sorted(abstract - set(own)):
        near = difflib.get_close_matches(method, own, 1)
        yield f"has no method {method!r}{f' (did you mean {near[0]}?)' if near else ''}"


def _class_text(text: str, name: str) -> tuple[str, str, str] | None:
    """Return a class's bases, its body, and the text of the module that defines it.

    Only modules of the package ``mocks`` are searched; other classes give None.
    """
    module, _, member = name.rpartition(".")
    if not module and (found := re.search(_CLASS.format(name), text, re.MULTILINE | re.DOTALL)):
        return found[1] or "", found[2], text
    for package, several, one in _IMPORT.findall(text):
        if (module or name) in re.findall(r"\w+", several or one):
            file = _file(f"{package}.{module}" if module else package)
            return _class_text(file, member) if file else None
    return None


def _file(module: str) -> str:
    """Return the text of a module of ``mocks``; empty if the module does not exist."""
    path = module.split(".")[1:]
    for root in mocks.__path__:
        for file in (os.path.join(root, *path) + ".py", os.path.join(root, *path, "__init__.py")):
            if os.path.exists(file):
                return Path(file).read_text("utf-8")
    return ""


def _configuration(protocol: Protocol, role: Role, file: Path) -> Iterator[str]:
    """Yield the unknown names in the configuration of a mock."""
    try:
        raw = tomllib.loads(file.read_text("utf-8"))
        declared = str(raw["iut"]["role"])
        sections = {section: list(raw.get(section, {})) for section in _SECTIONS}
    except (ValueError, LookupError, TypeError) as error:
        yield f"not a configuration: {error}"
        return
    if declared != str(role):
        yield f"iut.role: expected {str(role)!r}; received {declared!r}"
    known = dict(
        zip(
            _SECTIONS,
            (protocol.timings, role.hooks, role.programs, role.procedures, protocol.ixit),
            strict=True,
        )
    )
    for section, names in sections.items():
        for name in names:
            if name not in known[section]:
                yield f"{section}: {UnknownName('name', name, [*known[section]])}"
