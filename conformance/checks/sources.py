"""Search the Python files of a protocol for missing definitions and unknown names.

The files are searched as text and never imported, so a check takes milliseconds. Ids of
requirements are plain strings in these files. After certain words (`requirement("…")`,
`violates="…"`), every string is an id. Elsewhere in codecs, oracles and tests, a string is an id if
its first part is the area of a requirement.
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
    """Yield the errors in a protocol's Python files; each line begins with file and line."""
    suite = _Texts(conformance.__path__, protocol.name)
    mocked = _Texts(mocks.__path__, protocol.name)
    areas = {entry.area for entry in protocol.requirements.values()}
    # File names look like ids, and occur in codecs and tests.
    files = {path.name for path in protocol.folder.rglob("*.json")}
    for file, text in {**suite.texts, **mocked.texts}.items():
        named = {at: name for at, filled, name in _named_requirements(text) if not filled}
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
    """The Python files of one protocol in the first root that has them."""

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
        """Return the path of a module in the folder, and its text or None."""
        file = os.path.join(self.folder, f"{name}.py")
        return file, self.texts.get(file)


def _module(
    suite: _Texts, module: str, name: str, methods: tuple[str, ...], *functions: str
) -> Iterator[str]:
    """Yield the definitions that the codec or oracle must have and does not have."""
    file, text = suite.module(module)
    if text is None:
        yield f"{file} is missing"
        return
    for word in (name, *functions):
        if not re.search(rf"\b{word}\b", text):
            yield f"{file}: {word} is missing"
    # A class with bases, or an imported class, can inherit its methods.
    own = re.search(rf"^class {name}:\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    for method in methods if own else ():
        if own and not re.search(rf"^    def {method}\(", own[1], re.MULTILINE):
            yield f"{file}: {name} has no method {method!r}"


def _smoke(protocol: Protocol, role: Role, suite: _Texts) -> Iterator[str]:
    """Check that the smoke session decides a requirement that test cases also decide."""
    own = os.path.join(suite.folder, role.package.rpartition(".")[2])
    file = os.path.join(own, "__init__.py")
    if not os.path.isdir(own):
        return  # its test cases do not exist yet
    found = re.search(r'^SMOKE = "([^"]*)"', suite.texts.get(file, ""), re.MULTILINE)
    if found is None:
        yield f'{file}: SMOKE = "…" is missing; it names the requirement of the smoke session'
        return
    bound = [entry.id for entry in protocol.requirements_for(role)]
    others = [
        os.path.join(suite.folder, other.package.rpartition(".")[2], "")
        for other in protocol.roles.values()
        if other is not role
    ]
    texts = (text for path, text in suite.texts.items() if not path.startswith(tuple(others)))
    if found[1] not in bound:
        yield f"{file}: SMOKE: {UnknownName('requirement', found[1], bound)}"
    elif not any(_is_decided_in(text, found[1]) for text in texts):
        yield f"{file}: SMOKE: no test case of {role} decides {found[1]}"


def _named_requirements(text: str, one: Iterable[str] = _BEFORE) -> Iterator[tuple[int, bool, str]]:
    """Yield every string that names a requirement: position, True for f-strings, text."""
    for word in one:
        for at in _positions_after(text, word):
            if found := _FIRST.match(text, at):
                yield found.start(2), bool(found[1]), found[2]
    for word in _BEFORE_MANY:
        for at in _positions_after(text, word):
            group = _GROUP.match(text, at)
            for string in _STRING.finditer(text, at, group.end()) if group else ():
                yield string.start(1), False, string[1]


def _positions_after(text: str, word: str) -> Iterator[int]:
    """Yield the positions after a word. Plain search is many times as fast as a pattern."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            yield end
        at = text.find(word, end)


def _is_decided_in(text: str, requirement: str) -> bool:
    """Return whether a test case in a text decides a requirement.

    The text can name requirements in f-strings (``f"a.{b}"``), which then match as patterns.
    """
    return any(
        name == requirement
        or (
            filled
            and re.fullmatch(".*".join(map(re.escape, _HOLE.split(name))), requirement) is not None
        )
        for _, filled, name in _named_requirements(text, ("requirement(",))
    )
