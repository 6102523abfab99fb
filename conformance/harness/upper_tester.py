"""Upper tester: operations on the IUT by hooks or over stdio."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.configuration import Configuration, expand
from conformance.definitions.protocol import Role
from conformance.harness import links
from conformance.harness.children import Child, lend_pipes
from conformance.harness.deadlines import Countdown, in_time
from conformance.harness.links import Link
from conformance.harness.process import Process
from conformance.verdicts import Inconclusive, NotExercised, Violation

_LINE = 1024 * 1024  # bytes; a longer line on the standard output is cut
_MAX_QUOTE = 200  # characters of a line in a message
_WARNED = {"result", "warnings"}
_ANSWER = re.compile(rb'\s*\{.*"ok"\s*:\s*(?:true|false)\b')
"""A line that is evidently an answer, even with invalid JSON. Its members have any order."""
_ANSWER_ID = re.compile(rb'"id"\s*:\s*(\d{1,9})\b')
_MUTE_SHARE = 0.25  # share of the response time to wait if the IUT has never answered an operation
_EXIT_TIME = 0.5  # seconds in which a process that has closed its standard output can exit
_CLOSED = "the IUT closed the standard output, which the upper tester reads"


@dataclass(frozen=True)
class Answer:
    """Outcome of an operation: its result or its error, and its warnings."""

    ok: bool
    result: Any = None
    error: Any = None
    warnings: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The error in words, for the end of a sentence."""
        if self.error is None:
            return "no reason was reported"
        text = self.error if isinstance(self.error, str) else json.dumps(self.error)
        return text[:_MAX_QUOTE]

    def require_result(self, operation: str) -> Any:
        """Return the result. Raises Inconclusive if the operation failed."""
        if not self.ok:
            raise Inconclusive(f"the operation '{operation}' failed: {self.why}")
        return self.result

    @property
    def details(self) -> dict[str, Any]:
        """Outcome in the form of a transcript."""
        given = {"result": self.result, "error": self.error, "warnings": [*self.warnings] or None}
        return {"ok": self.ok, **{key: value for key, value in given.items() if value is not None}}


@dataclass
class OperationRecord:
    """Operations that were answered in this run, and those that last timed out."""

    answered: set[str] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    not_offered: set[str] = field(default_factory=set)
    """Operations that the IUT has answered with ``"offered": false``."""

    def take(self, operation: str, answered: bool) -> None:
        """Record that an operation was answered or timed out."""
        if answered:
            self.answered.add(operation)
            self.unanswered.discard(operation)
        else:
            self.unanswered.add(operation)

    @property
    def is_mute(self) -> bool:
        """True if operations timed out and none was ever answered."""
        return bool(self.unanswered and not self.answered)


class UpperTester:
    """Runs the operations of a role, if the configuration provides the means."""

    def __init__(
        self,
        role: Role,
        configuration: Configuration,
        values: Mapping[str, str],
        standard: Link | None,
        operated: OperationRecord | None = None,
        process: Process | None = None,
    ) -> None:
        """Create an upper tester.

        - ``standard``: the IUT's standard streams, if they take operations
        - ``operated``: operations that other instances of this run have answered
        - ``process``: the IUT's process, if the suite has started the IUT
        """
        self.operated = operated or OperationRecord()
        self._role = role
        self._configuration = configuration
        self._values = values
        self._standard = standard
        self._process = process
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.answers = 0
        """Number of operations that the IUT has answered on its standard streams."""
        self._other = b""
        """Last line on the standard output that was not an answer."""
        self._reader = asyncio.create_task(self._read(standard)) if standard else None

    def offers(self, operation: str) -> bool:
        """True if an operation can be run, as far as the IUT's answers have shown."""
        if operation in self._configuration.hooks:
            return True
        return self._standard is not None and operation not in self.operated.not_offered

    @property
    def output_hint(self) -> str:
        """Text about the output instead of an answer, for the end of a sentence."""
        if not self._other:
            return ""
        line = self._other.decode("utf-8", "backslashreplace")
        return (
            f"; it wrote {line[:_MAX_QUOTE]!r}, which is no answer: expected a JSON object on "
            'a line, with the id of the request and "ok", true or false'
        )

    async def __call__(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation.

        Raises Violation if the IUT crashes, Inconclusive if there is no answer for another reason,
        and NotExercised if nothing provides the operation. An IUT that does not offer an operation
        answers with ``"offered": false``.
        """
        if operation not in self._role.hooks:
            raise KeyError(f"{self._role} declares no operation {operation!r}")
        try:
            if command := self._configuration.hooks.get(operation):
                return await self._hook(operation, command, arguments)
            if self._standard:
                return await self._line(self._standard, operation, arguments)
        except Inconclusive as unanswered:
            await self._check_alive(operation, unanswered)
            raise
        raise self._missing_operation(operation)

    async def _check_alive(self, operation: str, unanswered: Inconclusive) -> None:
        """Raise Violation if the IUT has crashed instead of answering an operation."""
        ending = self._reader is not None and self._reader.done()
        if self._process and await self._process.crashes(_EXIT_TIME if ending else 0):
            expected = f"the operation '{operation}' to be answered"
            came = f"it was not answered{self._process.describe_end()}"
            raise Violation(expected, came) from unanswered

    def _missing_operation(self, operation: str) -> NotExercised:
        return NotExercised(
            f"needs the upper tester's operation '{operation}': give --hook {operation}=COMMAND, "
            f"or [hooks] {operation} in conformance.toml "
            f"({self._role.hooks[operation].description})"
        )

    async def close(self) -> None:
        if self._reader:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def _hook(self, operation: str, command: str, arguments: Mapping[str, Any]) -> Answer:
        given = {"args": json.dumps(arguments)} | {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in arguments.items()
        }
        argv = [expand(word, {**self._values, **given}) for word in shlex.split(command)]
        stdout, stderr = os.pipe(), os.pipe()
        try:
            with lend_pipes(stdout, stderr) as streams:
                process = Child(
                    argv,
                    env={**os.environ, **self._configuration.env},
                    cwd=self._configuration.cwd,
                    streams=[subprocess.DEVNULL, *streams],
                )
        except OSError as error:
            raise NotExercised(f"the hook {argv[0]!r} cannot be started: {error}") from error
        try:
            printed, complained = await links.pipe(stdout[0]), await links.pipe(stderr[0])
            ended = asyncio.gather(printed.read(), complained.read(), process.wait())
            out, err, code = await in_time(ended, self._countdown(operation))
        except TimeoutError:
            seconds = self._record_timeout(operation)
            raise Inconclusive(f"the hook {argv[0]!r} did not end within {seconds:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.operated.take(operation, True)
        if code != 0:
            return Answer(False, error=err.decode("utf-8", "replace").strip()[-400:])
        try:
            result = json.loads(out)
        except (ValueError, RecursionError):
            return Answer(True, out.decode("utf-8", "replace").strip() or None)
        if isinstance(result, dict) and "warnings" in result and result.keys() <= _WARNED:
            return Answer(True, result.get("result"), warnings=_texts(result["warnings"]))
        return Answer(True, result)

    async def _line(self, link: Link, operation: str, arguments: Mapping[str, Any]) -> Answer:
        try:
            asked = self._ask(link, operation, arguments)
            raw = await in_time(asked, self._countdown(operation))
        except TimeoutError:
            raise Inconclusive(
                f"the upper tester did not answer '{operation}' within "
                f"{self._record_timeout(operation):g} s{self.output_hint or self.unflushed_hint}"
            ) from None
        self.operated.take(operation, True)
        if not self._is_offered(operation, raw):
            raise self._missing_operation(operation)
        warnings = _texts(raw.get("warnings"))
        return Answer(raw["ok"], raw.get("result"), raw.get("error"), warnings)

    def _limit(self, operation: str) -> float:
        """Return the timeout of an operation in seconds; shorter after earlier timeouts."""
        limit, reacts = self._configuration.max_wait, self._configuration.seconds("response")
        if self.operated.is_mute:
            return min(limit, _MUTE_SHARE * reacts)
        return min(limit, reacts) if operation in self.operated.unanswered else limit

    def _countdown(self, operation: str) -> Countdown:
        """Return a countdown from now, which becomes shorter if other operations time out."""
        began = time.monotonic()
        return lambda: began + self._limit(operation) - time.monotonic()

    def _record_timeout(self, operation: str) -> float:
        """Record that an operation timed out; return its timeout in seconds."""
        limit = self._limit(operation)
        self.operated.take(operation, False)
        return limit

    @property
    def unflushed_hint(self) -> str:
        """Hint for an IUT that has never answered an operation."""
        if self.operated.answered:
            return ""
        return (
            "; it has never answered an operation: check that it flushes each answer with "
            "the line end"
        )

    async def _ask(
        self, link: Link, operation: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the answer on the standard streams, without a timeout."""
        if self._reader and self._reader.done():
            raise Inconclusive(_CLOSED)
        number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        request = {"id": number, "op": operation, "args": dict(arguments)}
        try:
            await link.write(json.dumps(request).encode() + b"\n")
            return await self._waiting[number]
        finally:
            del self._waiting[number]

    async def is_offered(self, operation: str) -> bool | None:
        """True if the IUT offers an operation of any role; None if it cannot be asked.

        The operation is called without arguments and without a timeout.
        """
        if not self._standard:
            return None
        return self._is_offered(operation, await self._ask(self._standard, operation, {}))

    def _is_offered(self, operation: str, answer: Mapping[str, Any]) -> bool:
        """Return False, and record this, if an answer says that the operation is not offered."""
        offered = bool(answer["ok"] or answer.get("offered") is not False)
        if not offered:
            self.operated.not_offered.add(operation)
        return offered

    async def _read(self, link: Link) -> None:
        line = bytearray()
        while data := await link.read():
            *ends, rest = data.split(b"\n")
            for end in ends:
                self._take_line(bytes(line + end))
                line.clear()
            line += rest
            del line[:-_LINE]
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Inconclusive(_CLOSED))

    def _take_line(self, line: bytes) -> None:
        # Other output is not judged.
        self._other = line if line.strip() else self._other
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            if _ANSWER.match(line):
                # A result can have an id of its own.
                numbers = {int(number) for number in _ANSWER_ID.findall(line)}
                if len(asked := numbers & self._waiting.keys()) == 1:
                    self._settle(asked.pop(), self._broken_answer(error))
            return
        if isinstance(raw, dict) and isinstance(raw.get("ok"), bool):
            number = raw.get("id")
            if isinstance(number, int):
                self._settle(number, raw)

    def _settle(self, number: int, outcome: dict[str, Any] | Inconclusive) -> None:
        future = self._waiting.get(number)
        if not future or future.done():
            return
        self._other = b""
        if isinstance(outcome, Inconclusive):
            future.set_exception(outcome)
        else:
            self.answers += 1
            future.set_result(outcome)

    def _broken_answer(self, error: Exception) -> Inconclusive:
        return Inconclusive(
            f"expected JSON as the upper tester's answer ({error}){self.output_hint}"
        )


def _texts(warnings: Any) -> tuple[str, ...]:
    """Return warnings as strings. An answer has a list, a single value, or none."""
    listed = warnings if isinstance(warnings, list) else [warnings] if warnings else []
    return tuple(str(entry) for entry in listed)
