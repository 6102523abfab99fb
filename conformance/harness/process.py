"""A process of an IUT. It is started in its own group, and stopped with all children."""

import asyncio
import contextlib
import os
import re
import signal
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from conformance.harness import abandoned, crash_output, fork_server, links, strays
from conformance.harness.children import Child, lend_pipes
from conformance.verdicts import Unreachable

TAIL = 16 * 1024  # bytes of stderr that are kept, and of stdout if it is not the wire
GRACE = 0.5  # seconds until SIGTERM, and again until SIGKILL
_LAST_OUTPUT = 0.2  # seconds to wait for output after the end; a grandchild can keep the pipe open
_MEMORY = 20  # index of the field in /proc/PID/stat (after the name) that is the size of the memory

_SHELL = 128  # a shell or a container exits with this plus the signal that killed its program
_FATAL = {signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV}

_WORDS = (b"Exception in thread", b"panic: ", b"fatal error: ")
_BEGINS = re.compile(rb"^(?:" + b"|".join(_WORDS) + rb").{,400}", re.MULTILINE)
"""Line of an error before a stack trace that exceeds the kept bytes."""


class Tail:
    """The last bytes of a stream, and the start of an error that precedes them."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._error = b""
        self.seen = asyncio.Event()

    def add(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * TAIL:
            # Cut only between lines, so that no error line is overlooked.
            end = self._kept.rfind(b"\n", 0, -TAIL) + 1 or len(self._kept) - TAIL
            # In megabytes of output, this search is many times as fast as the regular expression.
            if any(self._kept.find(words, 0, end) >= 0 for words in _WORDS):
                self._error = next(iter(_BEGINS.findall(self._kept, 0, end)[-1:]), self._error)
            del self._kept[:end]
            if not self._kept[:1].isspace():
                self._error = b""  # the kept bytes do not begin within its stack trace
        self.seen.set()

    @property
    def text(self) -> str:
        return b"\n".join((self._error, self._kept)).decode("utf-8", "replace").strip()

    @property
    def complete_lines(self) -> list[str]:
        """The last lines of the stream, without a line whose end is missing."""
        end = self._kept.rfind(b"\n") + 1
        return self._kept[:end].decode("utf-8", "replace").splitlines()


class Process:
    """A running IUT. ``standard`` is the link over its standard input and output.

    The link is the wire or the upper tester's stream. If it is neither, ``stdout`` keeps the
    output.
    """

    def __init__(
        self,
        process: Child | fork_server.Forked,
        mark: str,
        before: frozenset[str],
        standard: links.Link,
        used: bool,
    ) -> None:
        self._process = process
        self._mark = mark
        self._before = before
        self._readers: list[asyncio.Task[None]] = []
        self._used = used
        self._ended = False
        self._early = False
        self.standard = standard
        self.stderr = Tail()
        self.stdout = Tail()
        self.started = asyncio.get_running_loop().time()
        if strays.current_strays:
            strays.current_strays.note_start(self.pid)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        standard: bool,
        sockets: bool = False,
    ) -> "Process":
        """Start a program.

        - ``standard``: True to use stdin and stdout as a link; False to keep stdout
        - ``sockets``: True to use sockets instead of pipes, as libuv (Node.js) does

        Raises Unreachable if the program cannot start.
        """
        if strays.current_strays:
            strays.current_strays.begin()
        mark, before = uuid.uuid4().hex, process_ids()
        abandoned.note_process(mark)
        pair = links.socket_pair if sockets else os.pipe
        stdin, stdout, stderr = pair()[::-1], pair(), os.pipe()
        whole = {**os.environ, **env, abandoned.MARK: mark}
        try:
            with lend_pipes(stdin, stdout, stderr) as streams:
                process = await _spawn(argv, whole, cwd, streams)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Unreachable(f"{argv[0]} cannot be started: {reason}") from error
        except asyncio.CancelledError:
            sweep(abandoned.MARK, mark, before)
            raise
        try:
            link, errors = await links.pipes(stdout[0], stdin[0]), await links.pipe(stderr[0])
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            sweep(abandoned.MARK, mark, before)
            raise
        started = cls(process, mark, before, link, standard)
        started._read(errors.read, started.stderr)
        if not standard:
            started._read(lambda _: link.read(), started.stdout)
        return started

    def _read(self, read: Callable[[int], Awaitable[bytes]], into: Tail) -> None:
        async def run() -> None:
            while data := await read(links.CHUNK):
                into.add(data)

        self._readers.append(asyncio.create_task(run()))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit(self) -> str | None:
        """Description of the exit, or None while the process runs."""
        code = self._process.returncode
        if code is None:
            return None
        if code < 0:
            try:
                return f"was killed by {signal.Signals(-code).name}"
            except ValueError:
                return f"was killed by signal {-code}"
        if code - _SHELL in _FATAL:
            return f"exited with code {code}, as after {signal.Signals(code - _SHELL).name}"
        return f"exited with code {code}"

    @property
    def has_crashed(self) -> bool:
        """True if a signal or an unhandled error ended the process unexpectedly."""
        return not self._ended and self._ended_by_error

    @property
    def has_unhandled_error(self) -> bool:
        """True if its output reports an unhandled error."""
        return crash_output.has_unhandled_error(self.stderr.text)

    @property
    def is_gone(self) -> bool:
        """True if the process has exited, or if the system has already closed its files."""
        return _is_over(self.pid)

    @property
    def has_survivors(self) -> bool:
        """True if a process of its group is still running, the IUT or a child."""
        try:
            os.killpg(self._process.pid, 0)
        except OSError:
            return False
        return True

    @property
    def peak(self) -> int:
        """The largest size of its memory in bytes; 0 if unknown."""
        return peak(self.pid)

    @property
    def early_exit(self) -> str:
        """Description of an exit that nobody asked for, known after ``end``; empty without it."""
        return self.exit or "" if self._early else ""

    @property
    def crash(self) -> str:
        """Description of its crash, known after ``end``; empty if it did not crash."""
        return self.early_exit if self._ended_by_error else ""

    @property
    def _ended_by_error(self) -> bool:
        code = self._process.returncode or 0
        if code < 0 or code - _SHELL in _FATAL:
            return True
        return code > 0 and self.has_unhandled_error

    async def crashes(self, seconds: float) -> bool:
        """Return True if it has crashed, or crashes within ``seconds``."""
        if await self.wait(seconds) and self._readers:
            # The last output shows if an error was unhandled.
            await asyncio.wait(self._readers, timeout=_LAST_OUTPUT)
        return self.has_crashed

    def describe_end(self) -> str:
        """Describe its end and its last output, for a verdict's text."""
        line = crash_output.explaining_line(self.stderr.text or self.stdout.text)
        ended = f"; the process {self.exit or 'still runs'}"
        if self.exit and self.has_survivors:
            ended += "; a process that it has started still runs"
        return f"{ended}; {crash_output.quote(line)}" if line else ended

    async def wait_for_end(self) -> None:
        """Wait for its end without a timeout."""
        await self._process.wait()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end; return False if it still runs after ``seconds``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None

    def note_objects(self) -> None:
        """Remember the shared-memory objects that it uses now, to remove them after the run."""
        if strays.current_strays:
            strays.current_strays.note_objects(self.pid)

    async def end(self, grace: float = GRACE) -> bool:
        """Stop the process and its children: close stdin first, then SIGTERM, then SIGKILL.

        Returns True if the process exited within ``grace`` seconds after stdin was closed.
        """
        # The closed stdin asks the process to exit, so a later exit is not a crash.
        self._early = self._process.returncode is not None or _is_over(self.pid)
        self.note_objects()
        try:
            self.standard.finish()
            # A program that does not read its standard input does not notice the end.
            ended = await self.wait(grace if self._used else 0.01)
            self._ended = True
            if not ended:
                self._signal(signal.SIGTERM)
                await self.wait(GRACE)
        finally:
            # The children are also killed after an interrupt.
            self._signal(signal.SIGKILL)
            # Children that left the process group still have the mark in their environment.
            sweep(abandoned.MARK, self._mark, self._before)
            if strays.current_strays:
                strays.current_strays.note_end(self.pid)
        await self._process.wait()
        await self.standard.close()
        if self._readers:
            await asyncio.wait(self._readers, timeout=_LAST_OUTPUT)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        return ended

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def _spawn(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, streams: list[int]
) -> Child | fork_server.Forked:
    """Start a program in a session of its own. Raises OSError or ValueError."""
    if tuple(argv[:3]) == fork_server.MOCK:
        # If no mock can be forked, start it like any other program.
        with contextlib.suppress(OSError):
            return await fork_server.fork(argv[3:], env, cwd, streams)
    return Child(argv, env=env, cwd=cwd, streams=streams)


def _is_over(pid: int) -> bool:
    """True if a process has ended, even if not reaped, or is ending.

    The memory of an ending process is released before its connections are closed.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return True
    fields = status.rpartition(")")[2].split()
    return fields[0] in "ZX" or fields[_MEMORY] == "0"


def peak(pid: int) -> int:
    """Return the largest size of a process's memory in bytes; 0 if unknown."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return 0
    kilobytes = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return 1024 * int(kilobytes[1]) if kilobytes else 0


def process_ids() -> frozenset[str]:
    """Return the ids of all processes; empty if the system does not list them."""
    try:
        return frozenset(filter(str.isdigit, os.listdir("/proc")))
    except OSError:
        return frozenset()


def sweep(variable: str, mark: str, before: frozenset[str] = frozenset()) -> None:
    """Kill every process that was started with this mark in its environment.

    ``before`` are the processes that ran before the first of them was started.
    """
    wanted = f"{variable}={mark}".encode()
    for pid in process_ids() - before:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as environment:
                marked = wanted in environment.read().split(b"\0")
            if marked:
                os.kill(int(pid), signal.SIGKILL)
