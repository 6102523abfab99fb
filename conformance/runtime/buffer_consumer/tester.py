"""The tester of a consumer of buffers: runs its operations to read, write and list."""

import contextlib
import os
from pathlib import Path
from typing import Any

from conformance.cases import blaming
from conformance.harness import memory
from conformance.harness.upper_tester import Answer
from conformance.runtime.memory.answers import is_same_answer
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.operations import Operation
from conformance.runtime.memory.tester import Tester
from conformance.verdicts import Inconclusive, NotExercised, Violation

SET_VALUE = Operation(
    "set_value",
    {"param": "angle", "value": 0.25},
    ("write.params.angle", "write.timestamp", "control.write"),
)
GET_VALUE = Operation("get_value", {"param": "angle"})
OPERATIONS = (GET_VALUE, SET_VALUE)


async def set_value(
    buffer: Buffer, name: str, value: Any, about: str | None = "set-value.value"
) -> Answer:
    """Run set_value. Raises Violation if it fails or is not answered.

    `about` is the violated requirement (None: the requirement under test).
    """
    with blaming(about):
        answer = await buffer.tester.ask("set_value", **buffer.arguments, param=name, value=value)
    if not answer.ok:
        buffer.check_kept()
        expected = f"set_value of {name} = {value!r} to succeed"
        raise Violation(expected, f"it failed: {answer.why}", about)
    return answer


async def check_reads(
    buffer: Buffer, name: str, value: Any, about: str | None = "get-value.value"
) -> None:
    """Raise Violation unless get_value answers this value.

    `about` is the violated requirement (None: the requirement under test). A consumer that polls
    can answer an old value until its next poll. Only `check_reads_now` judges that.
    """
    answer, wrong = await _read(buffer, name, value)
    if wrong and await _comes_later(buffer, name, value, answer):
        return
    if wrong:
        buffer.check_kept()
        raise _read_violation(buffer, name, value, wrong, about)
    buffer.reported[name] = answer.result


async def check_reads_now(buffer: Buffer, name: str, value: Any) -> None:
    """Raise Violation unless get_value answers a value that was written just before.

    The violated requirement is the one under test if the value comes later, else get-value.value.
    """
    answer, wrong = await _read(buffer, name, value)
    if wrong:
        late = await _comes_later(buffer, name, value, answer)
        raise _read_violation(buffer, name, value, wrong, None if late else "get-value.value")
    buffer.reported[name] = answer.result


def _read_violation(
    buffer: Buffer, name: str, value: Any, wrong: str, about: str | None
) -> Violation:
    place = buffer.place(f"read.params.{name}")
    expected = f"get_value of {name} to answer {value!r}, the value in {place}"
    return Violation(expected, f"it {wrong}", about)


async def _comes_later(buffer: Buffer, name: str, value: Any, answer: Answer) -> bool:
    """Return True if get_value has repeated an old answer, and answers the value in time."""
    if (
        not answer.ok
        or buffer.reported.get(name, None) != answer.result
        or name not in buffer.reported
    ):
        return False

    async def comes_in_time() -> bool:
        later, wrong = await _read(buffer, name, value)
        if not wrong:
            buffer.reported[name] = later.result
        return not wrong

    session = buffer.tester.session
    return await session.poll_until(comes_in_time, f"{name} at the next poll", "response")


async def _read(buffer: Buffer, name: str, value: Any) -> tuple[Answer, str]:
    """Return the answer of get_value, and a description of its error (empty if correct)."""
    answer = await buffer.tester.ask("get_value", **buffer.arguments, param=name)
    if not answer.ok:
        return answer, f"failed: {answer.why}"
    right = is_same_answer(value, answer.result, buffer.peripheral[name].kind)
    return answer, "" if right else f"answered {str(answer.result)[:200]}"


async def list_names(tester: Tester) -> list[str]:
    """Return the names that `list` answers."""
    answer = await tester.check_operation("list")
    names = answer.result
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Inconclusive(f"expected names of buffers from 'list'; received {str(names)[:200]}")
    return [name.removeprefix("/dev/shm/").removeprefix("/") for name in names]


def mapped_names(tester: Tester) -> set[str]:
    """Return the shared memory objects that processes of the IUT have mapped now.

    Raises NotExercised if this cannot be observed.
    """
    process = tester.session.instance.process
    if process is None or not Path("/proc/self/maps").exists():
        raise NotExercised("needs an IUT that is started by a command, and /proc")
    prefix, found = f"{memory.FOLDER}/", set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            if os.getpgid(int(folder.name)) == process.pid:
                try:
                    lines = (folder / "maps").read_text("utf-8", "replace").splitlines()
                except PermissionError as error:
                    raise NotExercised(f"needs the memory maps of the IUT: {error}") from error
                found |= {line.partition(prefix)[2] for line in lines if prefix in line}
    return found
