"""Operations: valid and invalid answers, over standard streams and by hooks."""

import asyncio
import json
import shlex
import sys
from typing import Any

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.instance import Instance
from conformance.harness.upper_tester import Answer, OperationRecord, UpperTester
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation

CONSUMER = protocols.role("runtime/buffer-consumer")
SENT = {"ok": True, "result": 1}


class Streams:
    """Standard streams of an IUT that answers each request with the same lines."""

    def __init__(self, *lines: Any) -> None:
        self._lines = lines
        self._written: asyncio.Queue[bytes] = asyncio.Queue()

    async def write(self, data: bytes) -> None:
        number = json.loads(data)["id"]
        for line in self._lines:
            text = json.dumps({"id": number, **line}) if isinstance(line, dict) else line
            await self._written.put(text.encode() + b"\n")

    async def read(self) -> bytes:
        return await self._written.get()


async def asked(*lines: Any) -> Answer:
    streams: Any = Streams(*lines)
    upper = UpperTester(CONSUMER, Configuration(CONSUMER, max_wait=0.2), {}, streams)
    try:
        return await upper("list")
    finally:
        await upper.close()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([SENT], Answer(True, 1)),
        ([{"ok": False, "error": "no"}], Answer(False, error="no")),
        ([{**SENT, "warnings": ["a", 2]}], Answer(True, 1, warnings=("a", "2"))),
        ([{**SENT, "warnings": "one"}], Answer(True, 1, warnings=("one",))),
        ([{**SENT, "warnings": None}], Answer(True, 1)),
        (["starting", "{", "[]", {"id": 99, **SENT}, SENT], Answer(True, 1)),
    ],
)
async def test_answers(lines: list[Any], expected: Answer) -> None:
    """Other lines on standard output are ignored."""
    assert await asked(*lines) == expected


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "line", ["hello", '{"ok": true}', '{"id": "1", "ok": true}', '{"id": 1, "result": 2}', "[1]"]
)
async def test_what_came_instead_of_an_answer_is_told(line: str) -> None:
    with pytest.raises(Inconclusive, match="did not answer 'list'") as raised:
        await asked(line, "  ")
    assert f"it wrote {line!r}, which is no answer" in str(raised.value)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "ok": true, "result": "\\0"}',
        '{"result": {"id": 7, "angle": Inf}, "ok": true, "id": 1}',
        '{"ok":true,"id":1,"result":-nan}',
    ],
)
async def test_an_answer_that_is_not_json_is_not_waited_for(line: str) -> None:
    """The members of an answer have any order. Other lines are ignored."""
    with pytest.raises(Inconclusive, match=r"expected JSON as .* answer \(.*\); it wrote"):
        await asked(line)


CRASHES = "import sys; sys.stdin.readline(); raise ValueError('no such buffer')"
LEAVES = "import sys; sys.stdin.readline()"
CLOSES = "import os, sys; sys.stdin.readline(); os.close(1); sys.stdin.read()"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("program", "conclusion"),
    [(CRASHES, Violation), (LEAVES, Inconclusive), (CLOSES, Inconclusive)],
)
async def test_a_crash_during_an_operation_is_a_violation(
    program: str, conclusion: type[Conclusion]
) -> None:
    """An exit in order, or a closed standard output, decides nothing."""
    started = Configuration(CONSUMER, command=(sys.executable, "-c", program))
    instance = Instance(started, "none")
    await instance.start(None, {})
    try:
        with pytest.raises(conclusion) as raised:
            await instance.upper("list")
    finally:
        await instance.stop()
    assert isinstance(raised.value, Violation) == ("no such buffer" in str(raised.value))


@pytest.mark.asyncio
async def test_silence_and_what_is_not_offered() -> None:
    with pytest.raises(Inconclusive, match=r"did not answer 'list' within 0\.2 s; it has"):
        await asked()
    with pytest.raises(NotExercised, match="needs the upper tester's operation 'list'"):
        await asked({"ok": False, "offered": False})


@pytest.mark.asyncio
async def test_offers_nothing_that_the_iut_has_refused_as_not_offered() -> None:
    configuration = Configuration(CONSUMER, timing={"response": 0.2}, max_wait=0.5)
    operated = OperationRecord()
    streams: Any = Streams({"ok": False, "offered": False})
    upper = UpperTester(CONSUMER, configuration, {}, streams, operated)
    assert upper.offers("list")
    assert await upper.is_offered("list") is False
    await upper.close()
    other: Any = Streams()
    later = UpperTester(CONSUMER, configuration, {}, other, operated)
    assert not later.offers("list")
    assert later.offers("get_value")
    await later.close()


@pytest.mark.asyncio
async def test_what_is_never_answered_is_not_waited_for_in_full_again() -> None:
    """Other operations are not awaited in full either, unless one was answered."""
    configuration = Configuration(CONSUMER, timing={"response": 0.2}, max_wait=0.5)
    operated = OperationRecord()

    async def asks(*lines: Any, operation: str = "list") -> str:
        streams: Any = Streams(*lines)
        upper = UpperTester(CONSUMER, configuration, {}, streams, operated)
        try:
            await upper(operation)
        except Inconclusive as silent:
            return str(silent)
        finally:
            await upper.close()
        return ""

    assert "within 0.5 s" in await asks()
    assert "within 0.05 s" in await asks()
    assert "within 0.05 s" in await asks(operation="get_value")
    assert await asks({"ok": True}, operation="get_value") == ""
    assert "within 0.5 s" in await asks(operation="set_value")
    silent = await asks()
    assert "within 0.2 s" in silent
    assert "flushed" not in silent


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ('{"result": 1, "warnings": ["clamped"]}', Answer(True, 1, warnings=("clamped",))),
        ('{"warnings": ["clamped"]}', Answer(True, warnings=("clamped",))),
        ('{"result": 1}', Answer(True, {"result": 1})),
        ('{"warnings": [], "angle": 2}', Answer(True, {"warnings": [], "angle": 2})),
        ("[1]", Answer(True, [1])),
        ("words\n", Answer(True, "words")),
        ("", Answer(True)),
    ],
)
async def test_hooks(printed: str, expected: Answer) -> None:
    """A hook can report warnings; any other output is the result."""
    command = shlex.join([sys.executable, "-c", f"print({printed!r}, end='')"])
    configuration = Configuration(CONSUMER, hooks={"list": command})
    assert await UpperTester(CONSUMER, configuration, {}, None)("list") == expected


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("no such device", "no such device"),
        ({"code": 7, "message": None}, '{"code": 7, "message": null}'),
        (None, "no reason was reported"),
        ("a" * 1000, "a" * 200),
    ],
)
def test_errors_in_words(error: Any, words: str) -> None:
    assert Answer(False, error=error).why == words
