"""The checker of plain English finds each breach of a rule, and accepts plain sentences."""

import pytest

from conformance.checks.english import broken_rules, offences, python_texts, sentences, yaml_texts

GOOD = [
    "Send one message, and wait for its answer.",
    "The IUT answers each Ping within 5 s.",
    "`What` is a name here, and `upon` is another one.",
    "Return whether the peer has closed the stream.",
    'A log entry says "what is told", which quotes another program.',
    "What now?",
    "Besides the answer, the server sends its state.",
    " ".join(["word"] * 25),
]
BAD = [
    ("What comes is judged.", "begins with 'What'"),
    ("Whether a message has come.", "begins with 'Whether'"),
    ("(Of those, the first is kept.)", "begins with 'Of'"),
    ("One that has closed its side.", "begins with 'One'"),
    ("The same of a connection, as above.", "'The same of': write"),
    ("The same of a connection, as above.", "'as above': write"),
    ("The test rests on another requirement.", "'rests on': write need"),
    ("It waits in vain for the answer.", "'in vain': write"),
    ("The session lacks a message.", "'lacks': write is missing"),
    ("It is told of each message.", "'told': write report"),
    (" ".join(["word"] * 26), "26 words, at most 25"),
]
MODULE = '''\
"""A module with a short summary."""

LIMIT = 5  # whoever waits for longer gives up  # noqa: E501
KEPT = 9  # bytes
"""What is kept of a message."""

# A comment on two lines of its own,
# upon which nothing follows.
# type: ignore


class Public:
    """Where a summary goes on for much longer than a reader of a list of names wants to read it.

    - One item of a list.

        What is indented is code, and is left out.
    """

    def _private(self) -> None:
        """A private summary can have up to 25 words, because no list of public names shows it."""
'''
REQUIREMENTS = """\
requirements:
- id: ping.answered
  text: >-
    The server answers.
    That is all.
  note: 'Of this, nothing is said.'
  section: What is no prose
"""


@pytest.mark.parametrize("sentence", GOOD)
def test_a_plain_sentence_is_accepted(sentence: str) -> None:
    assert list(broken_rules(sentence)) == []


@pytest.mark.parametrize(("sentence", "rule"), BAD)
def test_an_offence_is_found(sentence: str, rule: str) -> None:
    assert any(broken.startswith(rule) for broken in broken_rules(sentence))


def test_code_and_lists_are_split_into_sentences() -> None:
    text = """Read `a.b. C` first. Then stop: Now, e.g. A or B.

    - The first item
      goes on.
    1. The second item.

        x = 1. And this is code.
    """
    assert list(sentences(text)) == [
        "Read `a.b. C` first.",
        "Then stop:",
        "Now, e.g. A or B.",
        "The first item goes on.",
        "The second item.",
    ]


def test_a_module_is_searched() -> None:
    found = [(offence.line, offence.rule) for offence in offences("module.py", MODULE)]
    assert found == [
        (5, "begins with 'What'"),
        (13, "begins with 'Where'"),
        (13, "20 words, at most 15"),
        (13, "begins with 'One'"),
        (3, "'whoever': write the name of the party"),
        (7, "'upon': write on or after"),
    ]
    assert [text.line for text in python_texts(MODULE) if text.summary] == [1, 13]


def test_an_offence_names_file_line_rule_and_sentence() -> None:
    (offence,) = offences("a/b.py", '"""Of a module."""')
    assert str(offence) == "a/b.py:1: begins with 'Of': Of a module."


def test_requirements_are_searched() -> None:
    found = [str(offence) for offence in offences("requirements.yaml", REQUIREMENTS)]
    assert sorted(found) == [
        "requirements.yaml:3: begins with 'That': That is all.",
        "requirements.yaml:6: begins with 'Of': Of this, nothing is said.",
    ]
    assert len(list(yaml_texts(REQUIREMENTS))) == 2
