"""Mocks in people's own tests: started on a free port, watched while they play, ended.

    with mock("simspark/server") as server:
        my_agent(server.host, server.port)
        assert server.findings == []

A mock plays in a thread of this process, or with `process=True` in a process of its own. Everything
that a peer sends it is judged as it passes. `async with` does the same.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance import locate, protocols
from mocks import deviations, playing
from mocks.run import Entry, Run
from mocks.upper_tester import Refused, Warned

STARTUP = 30.0  # seconds that a mock may take until it listens, or its peer until it is there
PATIENCE = 10.0  # seconds that `wait` and `ask` wait, and that a mock has for its end
KEPT = 100_000  # messages and entries; of more the oldest are forgotten


class MockFailed(Exception):
    """A mock that could not be started, or does not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a peer has sent: the name of the message, None where it is none, and what it says."""

    name: str | None
    value: Any
    connection: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement that a peer violates, whether it is a must, and how."""

    requirement: str
    level: str
    message: str
    connection: int
    path: tuple[str | int, ...] = ()


class Mock:
    """A mock that plays. What it has seen and told can be read at any time, and after its end."""

    def __init__(self, role: str, words: list[str], asks: bool) -> None:
        self.role = role
        self.status: int | None = None
        """Its exit status, once it has ended."""
        self.address = ""
        """Where it listens: HOST:PORT or unix:PATH, of its first port where it has several."""
        self.addresses: dict[str, str] = {}
        """Where it listens, by the names of its ports."""
        self.log: deque[Entry] = deque(maxlen=KEPT)
        self._words = words
        self._asks = asks
        self._received: deque[Message] = deque(maxlen=KEPT)
        self._findings: list[Finding] = []
        self._failure: str | None = None
        self._changed = threading.Condition()

    # What a test looks at

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def findings(self) -> list[Finding]:
        """What its peers have violated by what they have sent so far."""
        self._settle()
        return list(self._findings)

    @property
    def received(self) -> list[Message]:
        """The messages that its peers have sent so far."""
        self._settle()
        return list(self._received)

    def wait(self, name: str, count: int = 1, within: float = PATIENCE) -> Message:
        """Wait until that many messages of a name have come; the last. Raises MockFailed."""

        def came() -> list[Message]:
            return [message for message in self._received if message.name == name]

        with self._changed:
            if not self._changed.wait_for(lambda: len(came()) >= count or self._over, within):
                raise MockFailed(f"{name} did not come {count} times within {within:g} s")
            if len(came()) < count:
                raise MockFailed(f"the mock has ended, and {name} did not come {count} times")
            return came()[count - 1]

    def ask(self, operation: str, **args: Any) -> Any:
        """Do what its user can do (`upper_tester=True`); the result. Raises MockFailed."""
        raise NotImplementedError

    def deviate(self, *, faults: Iterable[str] = (), variants: Iterable[str] = ()) -> None:
        """From now on it has these faults and variants and no others.

        What a fault prepares when a session begins it has from the next session on. Raises
        MockFailed where the mock is in another process.
        """
        raise MockFailed(f"{self.role} is in another process, and stays as it was started")

    # How it is played

    def start(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def _settle(self) -> None:
        raise NotImplementedError

    @property
    def _over(self) -> bool:
        return self.status is not None or self._failure is not None

    def _hear(self, entry: Entry) -> None:
        """Take what the mock tells, in whatever thread."""
        with self._changed:
            facts, number = entry.facts, entry.connection or 0
            if entry.event == "received":
                self._received.append(Message(facts["name"], facts["value"], number))
            elif entry.event == "finding":
                path = tuple(facts["path"])
                told = facts["requirement"], facts["level"], facts["message"]
                self._findings.append(Finding(*told, number, path))
            elif entry.event != "settled":
                if entry.event == "listening":
                    self.addresses = dict(facts.get("addresses", {"": facts["address"]}))
                    self.address = facts["address"]
                self.log.append(entry)
            self._changed.notify_all()

    def _await(self, *events: str) -> None:
        """Wait until one of these was told. Raises MockFailed where it has ended before."""

        def told() -> bool:
            return any(entry.event in events for entry in self.log)

        with self._changed:
            done = self._changed.wait_for(lambda: told() or self._over, STARTUP)
            if self._failure or not done:
                raise MockFailed(f"{self.role}: {self._failure or 'it did not start'}")

    def __enter__(self) -> Self:
        try:
            self.start()
            self._await("listening", "connected", "ready")
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._settle()
        self.end()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)


class InThread(Mock):
    """A mock with an event loop of its own in a thread of this process."""

    def start(self) -> None:
        module = deviations.role_module(self.role)
        parser = playing.parser(self.role, module, "mock")
        parser.error = self._wrong  # type: ignore[method-assign,assignment]
        args = parser.parse_args(["--judge", "--verbose", *self._words])
        self._loop = asyncio.new_event_loop()
        self._run = Run(self._hear)
        self._run.inside = True
        self._played = self._loop.create_task(playing.play(self._run, module, self.role, args))
        self._thread = threading.Thread(target=self._play, daemon=True, name=self.role)
        self._thread.start()

    def _wrong(self, message: str) -> None:
        raise MockFailed(f"{self.role}: {message}")

    def _play(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                status = runner.run(self._wait())
            failure = None
        except Exception as error:
            status, failure = None, str(error) or type(error).__name__
        with self._changed:
            self.status, self._failure = status, failure
            self._changed.notify_all()

    async def _wait(self) -> int:
        return await self._played

    def end(self) -> None:
        if not hasattr(self, "_thread"):
            return
        if self._thread.is_alive():
            self._call(self._stop)
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            raise MockFailed(f"{self.role} does not end")

    def _stop(self) -> None:
        self._run.ending = True
        self._played.cancel()

    def _call(self, action: Callable[[], Any]) -> None:
        with contextlib.suppress(RuntimeError):  # it has just ended
            self._loop.call_soon_threadsafe(action)

    def _settle(self) -> None:
        if self._thread.is_alive():
            coroutine = playing.settle(self._run)
            try:
                asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)
            except (RuntimeError, TimeoutError, futures.CancelledError):
                coroutine.close()  # it has just ended, and everything is judged

    def ask(self, operation: str, **args: Any) -> Any:
        """Do what its user can do (`upper_tester=True`); the result. Raises MockFailed."""
        known = self._run.operations
        if operation not in known:
            raise MockFailed(f"{self.role} has no operation {operation!r}; there are {[*known]}")

        async def do() -> Any:
            return await known[operation](args)

        try:
            result = asyncio.run_coroutine_threadsafe(do(), self._loop).result(PATIENCE)
        except (Refused, ValueError, KeyError, TypeError) as error:
            raise MockFailed(f"{operation}: {error}") from error
        return result.result if isinstance(result, Warned) else result

    def deviate(self, *, faults: Iterable[str] = (), variants: Iterable[str] = ()) -> None:
        """From now on it has these faults and variants and no others."""
        deviations.change(self._run.peer, self.role, faults, variants)


class InProcess(Mock):
    """A mock in a process of its own, which tells as JSON what it sees."""

    def start(self) -> None:
        words = [sys.executable, "-m", "mocks", self.role]
        words += ["--judge", "--verbose", "--log", "json", *self._words]
        self._number = 0
        self._answers: dict[int, Any] = {}
        self._settled = 0
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE if self._asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path.cwd(),
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            try:
                told = json.loads(line)
                known = isinstance(told, dict)
            except ValueError:
                known = False
            if not known:
                self._hear(Entry("printed", line.decode(errors="replace").rstrip("\n")))
            elif "event" in told:
                event, text = told.pop("event"), told.pop("text")
                self._settled += event == "settled"
                self._hear(Entry(event, text, told.pop("connection", None), told))
            elif "id" in told:
                with self._changed:
                    self._answers[told["id"]] = told
                    self._changed.notify_all()
        if stream is self._process.stderr:
            self._finish()

    def _finish(self) -> None:
        status = self._process.wait()
        with self._changed:
            self.status = status
            if status > playing.VIOLATED and not self.address:
                self._failure = next((e.text for e in reversed(self.log)), f"exit {status}")
            self._changed.notify_all()

    def end(self) -> None:
        if not hasattr(self, "_process"):
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def _settle(self) -> None:
        with self._changed:
            if self._over or self._process.poll() is not None:
                return
            before = self._settled
            self._process.send_signal(signal.SIGUSR1)
            self._changed.wait_for(lambda: self._settled > before or self._over, PATIENCE)

    def ask(self, operation: str, **args: Any) -> Any:
        """Do what its user can do (`upper_tester=True`); the result. Raises MockFailed."""
        if not self._asks or self._process.stdin is None:
            raise MockFailed(f"{self.role} has no operations without upper_tester=True")
        with self._changed:
            self._number += 1
            number = self._number
            line = json.dumps({"id": number, "op": operation, "args": args})
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            self._changed.wait_for(lambda: number in self._answers or self._over, PATIENCE)
            answer = self._answers.pop(number, {"error": "there was no answer"})
        if not answer.get("ok"):
            raise MockFailed(f"{operation}: {answer.get('error')}")
        return answer.get("result")


def mock(role: str, *, process: bool = False, **options: Any) -> Mock:
    """A mock of a role such as `simspark/server`, to be used in `with` or `async with`.

    The options are those of `conformance mock ROLE --help`, with `_` for `-`: True for a flag, a
    list for one that is repeated. A role that serves listens at a free port of 127.0.0.1 unless
    `listen` or `connect` say otherwise. In a process of its own it needs a moment more, and nothing
    of it can disturb this one; values of messages are then what JSON can hold.
    """
    locate.extend_packages()
    known = protocols.role(role)
    asks = bool(options.get("upper_tester"))
    if known.transports == ("none",):
        # It has nothing but operations.
        asks = True
        options.pop("upper_tester", None)
    elif known.serves and not options.keys() & {"listen", "connect"}:
        options["listen"] = "127.0.0.1:0"
    words = []
    for name, value in options.items():
        word = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                words.append(word)
            elif each is not False and each is not None:
                words += [word, str(each)]
    return (InProcess if process else InThread)(role, words, asks)
