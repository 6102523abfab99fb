"""Check the rules of plain English that a program can check, in one file.

The texts are docstrings and comments of Python files, and the prose of requirements.yaml files.
Code in backticks counts as one word. Indented blocks of a docstring are code, and are ignored.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc

import yaml

MOST_WORDS = 25  # words of a sentence: longer ones need a second reading
MOST_WORDS_FIRST = 15  # words of a docstring's first sentence, which fits into one line
FEWEST = 3  # words of a sentence; shorter texts are labels

FIRST_WORDS = frozenset(
    (
        "What",
        "Who",
        "Whoever",
        "Whatever",
        "Whether",
        "Where",
        "That",
        "Which",
        "Whose",
        "Whom",
        "Of",
        "As",
        "One",
        "So",
        "Such",
        "Else",
        "Not",
    )
)
"""Words that no sentence begins with: the subject, or an imperative verb, comes first."""

WORDS = {
    "whoever": "the name of the party",
    "upon": "on or after",
    "anew": "again",
    "beside": "next to, while or besides",
    "in vain": "without a result",
    "likewise": "a text that needs no other text",
    "as above": "a text that needs no other text",
    "the same of": "a text that needs no other text",
    "lack, lacks, lacked, lacking": "is missing or does not have",
    "tell, tells, told, telling": "report, return or log",
    "lay to, lays to, laid to": "blame for",
    "come of, comes of, came of": "result from",
    "bring about, brings about, brought about": "cause",
    "rest on, rests on, rested on": "need",
    "stand for, stands for, stood for": "mean or represent",
    "is meant, are meant, was meant, were meant, be meant": "the plain verb",
    "is due, are due, was due, were due, be due": "is expected",
}
"""Words that the project does not use, and their replacements."""

_WORDS = [
    (re.compile(rf"\b(?:{'|'.join(forms.split(', '))})\b", re.IGNORECASE), replacement)
    for forms, replacement in WORDS.items()
]
_CODE = re.compile(r"``.+?``|`[^`]+`", re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_END = re.compile(r"(?<=[.:;!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`\"“(])")
_ITEM = re.compile(r"(?:[-*]|\d+[.)])\s")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_PRAGMA = re.compile(r"\b(?:type: ignore\S*|noqa\S*(?:, ?[A-Z]+\d+)*|fmt: \w+|pragma: .*)")
_PROSE = ("text", "note", "why", "needs")


@dataclass(frozen=True)
class Text:
    """A text of a file; ``summary``: its first sentence is the summary of a public object."""

    line: int
    text: str
    summary: bool = False


@dataclass(frozen=True)
class Offence:
    """A sentence that breaks a rule; ``line`` is where its text begins."""

    file: str
    line: int
    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.sentence}"


def offences(file: str, source: str) -> Iterator[Offence]:
    """Yield the offences in a file, given its name and its text.

    Raises SyntaxError or yaml.YAMLError if the file cannot be parsed.
    """
    for text in python_texts(source) if file.endswith(".py") else yaml_texts(source):
        for number, sentence in enumerate(sentences(text.text)):
            most = MOST_WORDS_FIRST if text.summary and number == 0 else MOST_WORDS
            for rule in broken_rules(sentence, most):
                yield Offence(file, text.line, rule, sentence)


def broken_rules(sentence: str, most: int = MOST_WORDS) -> Iterator[str]:
    """Yield the rules that a sentence breaks; ``most`` is its number of words at most."""
    plain = _CODE.sub("X", sentence)
    words = _WORD.findall(plain)
    if len(words) < FEWEST:
        return
    if words[0] in FIRST_WORDS and plain.lstrip("\"'(“*").startswith(words[0]):
        yield f"begins with {words[0]!r}"
    if len(words) > most:
        yield f"{len(words)} words, at most {most}"
    unquoted = _QUOTED.sub("X", plain)
    for pattern, replacement in _WORDS:
        if found := pattern.search(unquoted):
            yield f"{found[0]!r}: write {replacement}"


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text: paragraphs and list items, split at full stops."""
    for paragraph in _paragraphs(text):
        # Full stops in code end no sentence, so code is replaced while the paragraph is split.
        codes = _CODE.findall(paragraph)
        for sentence in _END.split(_CODE.sub("`\0`", paragraph)):
            while "`\0`" in sentence:
                sentence = sentence.replace("`\0`", codes.pop(0), 1)
            yield sentence


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, each on one line; indented blocks are left out."""
    lines: list[str] = []
    for line in [*cleandoc(text).splitlines(), ""]:
        item = _ITEM.match(line)
        code = line.startswith("    ")
        if lines and (item or code or not line.strip()):
            yield " ".join(lines)
            lines = []
        if line.strip() and not code:
            lines.append((line[item.end() :] if item else line).strip())


def python_texts(source: str) -> Iterator[Text]:
    """Yield the docstrings and comments of a Python file. Raises SyntaxError."""
    tree = ast.parse(source)
    public = {id(node) for node in _public_docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield Text(node.lineno, text, id(node) in public)
    yield from _comments(source)


def _public_docstrings(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the docstrings of a module or class, and of its public members."""
    body = getattr(node, "body", [])
    if body and isinstance(body[0], ast.Expr):
        yield body[0]
    if isinstance(node, ast.Module | ast.ClassDef):
        for member in body:
            named = isinstance(member, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if named and not member.name.startswith("_"):
                yield from _public_docstrings(member)


def _comments(source: str) -> Iterator[Text]:
    """Yield each comment; comments on consecutive lines of their own are one text."""
    block: list[str] = []
    begin = latest = column = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or token.string.startswith("#!"):
            continue
        (line, at), text = token.start, _PRAGMA.sub("", token.string.lstrip("#: "))
        alone = not token.line[:at].strip()
        if block and alone and (line, at) == (latest + 1, column):
            block.append(text)
        else:
            if block:
                yield Text(begin, " ".join(block))
            block, begin = [text], line
        # A comment after code is a text of its own.
        latest, column = (line, at) if alone else (0, 0)
    if block:
        yield Text(begin, " ".join(block))


def yaml_texts(source: str) -> Iterator[Text]:
    """Yield the prose of a requirements.yaml file. Raises yaml.YAMLError."""
    waiting = [yaml.compose(source, Loader=yaml.SafeLoader)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value in _PROSE and isinstance(value, yaml.ScalarNode):
                    yield Text(value.start_mark.line + 1, value.value)
                else:
                    waiting.append(value)
