"""One process of an IUT: started in a group of its own, watched, ended with all its offspring."""

import asyncio
import contextlib
import os
import re
import signal
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from conformance.harness import forked, links
from conformance.harness.children import Child, lent
from conformance.verdicts import Unreachable

TAIL = 16 * 1024  # bytes of stderr, and of stdout where it is not the wire, that are kept
GRACE = 0.5  # seconds that an IUT has to end by itself, and again after SIGTERM
_MARK = "CONFORMANCE_IUT"
_MEMORY = 20  # which field of the state of a process, as Linux tells it, is the size of its memory

# How runtimes report that a program died of an unhandled error: Python, Rust, Go, C++,
# Java, Node.js, .NET, the shell. A program that closes on purpose says something of its own.
_UNHANDLED = re.compile(
    r"Traceback \(most recent call last\)|panicked at|^panic: |^fatal error: |terminate called|"
    r"^Exception in thread|^\s+at .*:\d+:\d+\)?$|Unhandled exception|Segmentation fault|"
    r"AddressSanitizer",
    re.MULTILINE,
)


_WORDS = (b"Exception in thread", b"panic: ", b"fatal error: ")
_BEGINS = re.compile(rb"^(?:" + b"|".join(_WORDS) + rb").{,400}", re.MULTILINE)
"""The line of an error that stands before its trace, which may be longer than what is kept."""


class Tail:
    """The last bytes of a stream that is read to its end, and an error that began before them."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._error = b""
        self.seen = asyncio.Event()

    def add(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * TAIL:
            # No line is cut, so that none is overlooked.
            end = self._kept.rfind(b"\n", 0, -TAIL) + 1 or len(self._kept) - TAIL
            # To look for the words first is many times as fast, in megabytes without them.
            if any(self._kept.find(words, 0, end) >= 0 for words in _WORDS):
                self._error = next(iter(_BEGINS.findall(self._kept, 0, end)[-1:]), self._error)
            del self._kept[:end]
            if not self._kept[:1].isspace():
                self._error = b""  # what is kept does not begin within its trace
        self.seen.set()

    @property
    def text(self) -> str:
        return b"\n".join((self._error, self._kept)).decode("utf-8", "replace").strip()


class Process:
    """A running IUT. ``standard`` is the link over its standard input and output.

    They are the wire, or the upper tester's, or unused: then ``stdout`` keeps what it prints.
    """

    def __init__(
        self,
        process: Child | forked.Forked,
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
        """Start it. With ``standard`` its stdin and stdout become a link, else stdout is kept.

        They are pipes, or with ``sockets`` what libuv gives to a program in their place. Raises
        Unreachable where it cannot be started.
        """
        mark, before = uuid.uuid4().hex, running()
        pair = links.paired if sockets else os.pipe
        stdin, stdout, stderr = pair()[::-1], pair(), os.pipe()
        whole = {**os.environ, **env, _MARK: mark}
        try:
            with lent(stdin, stdout, stderr) as streams:
                process = await _spawn(argv, whole, cwd, streams)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Unreachable(f"{argv[0]} cannot be started: {reason}") from error
        except asyncio.CancelledError:
            sweep(_MARK, mark, before)
            raise
        link = await links.pipes(stdout[0], stdin[0])
        started = cls(process, mark, before, link, standard)
        started._read((await links.pipe(stderr[0])).read, started.stderr)
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
        """How it ended, in words; None while it runs."""
        code = self._process.returncode
        if code is None:
            return None
        if code < 0:
            try:
                return f"was killed by {signal.Signals(-code).name}"
            except ValueError:
                return f"was killed by signal {-code}"
        return f"exited with code {code}"

    @property
    def crashed(self) -> bool:
        """Whether it died, by a signal or an unhandled error, before we ended it."""
        code = self._process.returncode
        if self._ended or not code:
            return False
        return code < 0 or self.unhandled

    @property
    def unhandled(self) -> bool:
        """Whether its output reports an unhandled error."""
        return _UNHANDLED.search(self.stderr.text) is not None

    @property
    def gone(self) -> bool:
        """Whether it has ended, or is about to; known as soon as it closes what it had open."""
        return _over(self.pid)

    @property
    def survived(self) -> bool:
        """Whether a process of its group still runs, be it this one or its offspring."""
        try:
            os.killpg(self._process.pid, 0)
        except OSError:
            return False
        return True

    @property
    def peak(self) -> int:
        """The largest size in bytes that it has had in memory; 0 where it is not known."""
        return peak(self.pid)

    @property
    def death(self) -> str:
        """How it died by itself, known once it was ended; empty where it did not."""
        code = self._process.returncode or 0
        died = code < 0 or (code > 0 and self.unhandled)
        return self.exit or "" if self._early and died else ""

    async def over(self) -> None:
        """Wait for its end, however long that takes."""
        await self._process.wait()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end; False where it still runs after that many seconds, if any are given."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None

    async def end(self, grace: float = GRACE) -> bool:
        """End it and everything it started: end of input first, then SIGTERM, then SIGKILL.

        ``grace`` is how many seconds it has to end with its input; returns whether it has.
        """
        # An end that follows the end of its input, which comes next, is one that we have asked for.
        self._early = self._process.returncode is not None or _over(self.pid)
        try:
            self.standard.finish()
            # A program that does not read its standard input will not notice that it has ended.
            ended = await self.wait(grace if self._used else 0.01)
            self._ended = True
            if not ended:
                self._signal(signal.SIGTERM)
                await self.wait(GRACE)
        finally:
            # Also where the run is interrupted just now.
            self._signal(signal.SIGKILL)
            # Offspring that left the process group still carries our mark.
            sweep(_MARK, self._mark, self._before)
        await self._process.wait()
        await self.standard.close()
        # Its last output is worth waiting for; a grandchild that keeps the pipe open is not.
        if self._readers:
            await asyncio.wait(self._readers, timeout=0.2)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        return ended

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def _spawn(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, streams: list[int]
) -> Child | forked.Forked:
    """Start a program in a session of its own. Raises OSError or ValueError."""
    if tuple(argv[:3]) == forked.MOCK:
        # Where none can be forked it is started as any other program.
        with contextlib.suppress(OSError):
            return await forked.fork(argv[3:], env, cwd, streams)
    return Child(argv, env=env, cwd=cwd, streams=streams)


def _over(pid: int) -> bool:
    """Whether a process has ended, even if it was not reaped yet, or is about to.

    The memory of one that ends is gone before its connections are closed.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return True
    fields = status.rpartition(")")[2].split()
    return fields[0] in "ZX" or fields[_MEMORY] == "0"


def peak(pid: int) -> int:
    """The largest size in bytes that a process has had in memory; 0 where it is not known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return 0
    kilobytes = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return 1024 * int(kilobytes[1]) if kilobytes else 0


def running() -> frozenset[str]:
    """The ids of all processes; empty where the system does not list them."""
    try:
        return frozenset(filter(str.isdigit, os.listdir("/proc")))
    except OSError:
        return frozenset()


def sweep(variable: str, mark: str, before: frozenset[str] = frozenset()) -> None:
    """Kill every process that was started with this mark in its environment, wherever it went.

    ``before`` are those that ran already when the first of them was started.
    """
    wanted = f"{variable}={mark}".encode()
    for pid in running() - before:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as environment:
                marked = wanted in environment.read().split(b"\0")
            if marked:
                os.kill(int(pid), signal.SIGKILL)
