"""Searches the Python files of a protocol, as text, for missing definitions and unknown names.

Nothing is imported, so that it costs milliseconds. The ids of requirements stand in these files as
plain strings: behind certain words (`requirement("…")`, `violates="…"`) every string is one, and
elsewhere in codecs, oracles and tests each that looks like an id of an area that exists.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import conformance
import mocks
from conformance.checks import mock_sources
from conformance.definitions.protocol import Protocol, Role, UnknownName

_BEFORE = (
    *("requirement(", "Finding(", "exercised.add("),
    *("requirement=", "violates=", "of="),
)
_BEFORE_MANY = ("each_of(", "exercised.update(", "exercised |= ")
_FIRST = re.compile(r'\s*(f?)"([^"\n]*)"')
_GROUP = re.compile(r"[({]?[^(){}]*[)}]")
_STRING = re.compile(r'(?<!\w)"([^"\n]*)"')
_ID = re.compile(r'"([a-z0-9-]+\.[a-z0-9-]+)"')
_AWAITED = re.compile(r'\bsession\.(?:expect|watch)\(((?:"\w+"(?:, )?)+)')
_HOLE = re.compile(r"\{[^}]*\}")


def problems(protocol: Protocol) -> Iterator[str]:
    """What is wrong in the Python files of a protocol: lines that begin with file and line."""
    suite = _Texts(conformance.__path__, protocol.name)
    mocked = _Texts(mocks.__path__, protocol.name)
    areas = {entry.area for entry in protocol.requirements.values()}
    # Names of files look like ids, too, and stand in codecs and tests.
    files = {path.name for path in protocol.folder.rglob("*.json")}
    for file, text in {**suite.texts, **mocked.texts}.items():
        named = {at: name for at, filled, name in _named(text) if not filled}
        if file in suite.texts:
            named |= {
                found.start(1): found[1]
                for found in _ID.finditer(text)
                if found[1] not in files and found[1].partition(".")[0] in areas
            }
        for at, name in sorted(named.items()):
            if name not in protocol.requirements:
                problem = UnknownName("requirement", name, list(protocol.requirements))
                yield f"{file}:{text.count(chr(10), 0, at) + 1}: {problem}"
    sent = sorted({name for _, name in protocol.messages})
    for file, text in suite.texts.items():
        for found in _AWAITED.finditer(text):
            for name in _STRING.findall(found[1]):
                if name not in sent:
                    line = text.count("\n", 0, found.start()) + 1
                    yield f"{file}:{line}: {UnknownName('message', name, sent)}"
    yield from _module(suite, "codec", "Decoder", ("feed", "end"), "encode")
    yield from _module(suite, "oracle", "Oracle", ())
    shared = os.path.join(suite.folder, "both", "__init__.py")
    if os.path.isdir(os.path.dirname(shared)) and shared not in suite.texts:
        yield f"{shared} is missing"
    for role in protocol.roles.values():
        yield from _smoke(protocol, role, suite)
    yield from mock_sources.problems(protocol, mocked.texts, mocked.folder)


class _Texts:
    """The Python files of a protocol's folder below one of some roots, and what stands in them."""

    def __init__(self, roots: Iterable[str], name: str) -> None:
        folders = [os.path.join(root, name) for root in roots]
        self.folder = next((folder for folder in folders if os.path.isdir(folder)), folders[0])
        self.texts: dict[str, str] = {}
        for folder, _, files in os.walk(self.folder):
            for file in files:
                if file.endswith(".py"):
                    path = os.path.join(folder, file)
                    self.texts[path] = Path(path).read_text("utf-8")

    def module(self, name: str) -> tuple[str, str | None]:
        """A module right below the folder: its file, and its text where it exists."""
        file = os.path.join(self.folder, f"{name}.py")
        return file, self.texts.get(file)


def _module(
    suite: _Texts, module: str, name: str, methods: tuple[str, ...], *functions: str
) -> Iterator[str]:
    """What the codec or the oracle lacks, as far as it defines that itself."""
    file, text = suite.module(module)
    if text is None:
        yield f"{file} is missing"
        return
    for word in (name, *functions):
        if not re.search(rf"\b{word}\b", text):
            yield f"{file}: {word} is missing"
    # One that derives from another, or comes from elsewhere, can have its methods from there.
    own = re.search(rf"^class {name}:\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    for method in methods if own else ():
        if own and not re.search(rf"^    def {method}\(", own[1], re.MULTILINE):
            yield f"{file}: {name} has no method {method!r}"


def _smoke(protocol: Protocol, role: Role, suite: _Texts) -> Iterator[str]:
    """The smoke session decides a requirement of its role that test cases decide as well."""
    own = os.path.join(suite.folder, role.package.rpartition(".")[2])
    file = os.path.join(own, "__init__.py")
    if not os.path.isdir(own):
        return  # its test cases are still to be written
    found = re.search(r'^SMOKE = "([^"]*)"', suite.texts.get(file, ""), re.MULTILINE)
    if found is None:
        yield f'{file}: SMOKE = "…" is missing: the requirement that its smoke session decides'
        return
    bound = [entry.id for entry in protocol.binding(role)]
    others = [
        os.path.join(suite.folder, other.package.rpartition(".")[2], "")
        for other in protocol.roles.values()
        if other is not role
    ]
    texts = (text for path, text in suite.texts.items() if not path.startswith(tuple(others)))
    if found[1] not in bound:
        yield f"{file}: SMOKE: {UnknownName('requirement', found[1], bound)}"
    elif not any(_decides(text, found[1]) for text in texts):
        yield f"{file}: SMOKE: no test case of {role} decides {found[1]}"


def _named(text: str, one: Iterable[str] = _BEFORE) -> Iterator[tuple[int, bool, str]]:
    """Every string that names a requirement: its place, whether it is filled in, and the string."""
    for word in one:
        for at in _after(text, word):
            if found := _FIRST.match(text, at):
                yield found.start(2), bool(found[1]), found[2]
    for word in _BEFORE_MANY:
        for at in _after(text, word):
            group = _GROUP.match(text, at)
            for string in _STRING.finditer(text, at, group.end()) if group else ():
                yield string.start(1), False, string[1]


def _after(text: str, word: str) -> Iterator[int]:
    """The places behind a word; to look for plain text is many times as fast as for a pattern."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            yield end
        at = text.find(word, end)


def _decides(text: str, requirement: str) -> bool:
    """Whether test cases in a text decide a requirement; a name may be filled in (``f"a.{b}"``)."""
    return any(
        name == requirement
        or (
            filled
            and re.fullmatch(".*".join(map(re.escape, _HOLE.split(name))), requirement) is not None
        )
        for _, filled, name in _named(text, ("requirement(",))
    )
