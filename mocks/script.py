"""Scripts that a mock plays to its peers: messages to send, times, and expected messages.

A script is a YAML list of steps. Every connection plays the list from its beginning. A role with
several ports has an object with a list for each port (agent, monitor). A step has any of

    at: 2.5                wait until this many seconds after the beginning of the connection
    when: Ping             wait for a message of this name, without a limit
    expect: Pong           wait for a message of this name; a missing message is a failure
    within: 3              seconds that `expect` waits (default: 10). After this time `when`
                           continues without the message, and forgets the messages before it
    send: …                a message in its decoded form, as `conformance show` prints it
    text: "…", hex: 00ff   bytes to send unchanged
    do: {touch: {x: 5}}    an operation of the upper tester (`--upper-tester`) and its arguments
    fault: NAME            from now on the mock has this fault, until `no-fault: NAME`
    disconnect: true       close the connection

in this order. `when` and `expect` also take an object: {name: Ping, value: {number: 5}}. The
message must then contain this value. They also take a list of several messages in order. Other
messages that come before the awaited message are ignored.

A role of shared memory has no connections. Its script is played once, from the mock's start, and
has only steps that need no connection.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.codec import Frame
from conformance.definitions import protocols
from mocks import deviations, option_files
from mocks.run import Connection, Run
from mocks.upper_tester import Refused, Warned

WITHIN = 10.0  # seconds to wait for a message: longer than any peer needs to answer
LONGEST = 1e9  # seconds that a step can wait: more than any mock lives
KEPT = 10_000  # messages that can wait for a step; the oldest are dropped first
_WORDS = {"at", "when", "expect", "within", "send", "text", "hex"}
_WORDS |= {"fault", "no-fault", "disconnect", "do"}
_ALONE = {"at", "do", "fault", "no-fault"}
"""The steps that need no connection."""

Steps = Sequence[Mapping[str, Any]]


class WrongScript(ValueError):
    """A script that cannot be played; the text names the place and the reason."""


def read(path: Path) -> Mapping[str, Steps]:
    """Return the steps of a script by port name; "" is all ports. Raises WrongScript."""
    try:
        loaded = option_files.load(path)
    except ValueError as error:
        raise WrongScript(str(error)) from error
    by_port = loaded if isinstance(loaded, dict) else {"": loaded}
    for steps in by_port.values():
        if not isinstance(steps, list):
            raise WrongScript(f"{path}: expected a list of steps")
        for number, step in enumerate(steps, 1):
            try:
                _check(step)
            except ValueError as error:
                raise WrongScript(f"{path}: step {number}: {error}") from None
    return by_port


def _check(step: Any) -> None:
    if not isinstance(step, dict) or not step:
        raise ValueError("expected an object")
    if unknown := step.keys() - _WORDS:
        words = ", ".join(sorted(_WORDS))
        raise ValueError(f"{', '.join(map(str, unknown))}: expected one of {words}")
    for word in ("at", "within"):
        seconds = step.get(word, 0.0)
        if not isinstance(seconds, int | float) or not -LONGEST < seconds < LONGEST:
            raise ValueError(f"{word}: expected a number of seconds")
    if "hex" in step:
        bytes.fromhex(str(step["hex"]))
    if "do" in step and not (isinstance(step["do"], dict) and len(step["do"]) == 1):
        raise ValueError("do: expected {OPERATION: {its arguments}}")


@dataclass
class _Playing:
    """A connection that plays a script: its unread messages and its task."""

    decoder: Any
    came: asyncio.Queue[Frame] = field(default_factory=lambda: asyncio.Queue(KEPT))
    task: asyncio.Task[None] | None = None


class Player:
    """The observer of a run that plays a script on each connection."""

    def __init__(
        self,
        role: str,
        run: Run,
        scripts: Sequence[Mapping[str, Steps]],
        args: argparse.Namespace,
    ) -> None:
        """Prepare to play.

        `scripts` belong to the connections in turn: the first script to the first connection, and
        so on; after the last script, the first one follows. `args` are the mock's options, with its
        initial faults.
        """
        self._run = run
        self._role = protocols.role(role)
        self._protocol = protocols.load(self._role.protocol)
        self._scripts = scripts
        self._open: dict[int, _Playing] = {}
        self._counts: dict[str, int] = {}
        self._faults = list(args.fault)
        self._others = (args.variant, args.lenient)
        self.failures = 0
        """How many expected messages were missing."""
        self._alone: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Play from the start of the run if the role has no connections. Raises WrongScript."""
        if self._role.transports != ("none",):
            return
        steps = [step for script in self._scripts for part in script.values() for step in part]
        if found := {word for step in steps for word in step} - _ALONE:
            words = ", ".join(sorted(found))
            raise WrongScript(f"{self._role} has no connections; the script cannot have {words}")
        self._alone = asyncio.create_task(self._play(None, _Playing(None), steps))

    def connected(self, number: int, channel: str, kind: str) -> None:
        """Begin to play a script on a connection."""
        scripts = [each for each in self._scripts if channel in each or "" in each]
        count = self._counts[channel] = self._counts.get(channel, -1) + 1
        if scripts:
            script = scripts[count % len(scripts)]
            peer = channel or self._role.peer
            playing = self._open[number] = _Playing(self._protocol.decoder(peer, kind))
            steps = script[channel] if channel in script else script[""]
            playing.task = asyncio.create_task(self._play(number, playing, steps))

    def passed(self, number: int, channel: str, came: bool, data: bytes) -> None:
        if came and (playing := self._open.get(number)):
            for frame in playing.decoder.feed(data):
                if playing.came.full():
                    playing.came.get_nowait()
                playing.came.put_nowait(frame)

    def ended(self, number: int, channel: str, came: bool) -> None: ...

    def left(self, number: int) -> None:
        playing = self._open.pop(number, None)
        if playing and playing.task and playing.task is not asyncio.current_task():
            playing.task.cancel()

    async def _play(self, number: int | None, playing: _Playing, steps: Steps) -> None:
        began = asyncio.get_running_loop().time()
        connection = None if number is None else self._run.open[number]
        for place, step in enumerate(steps, 1):
            try:
                await self._step(connection, playing, step, began)
            except asyncio.CancelledError:
                self._fail(
                    number,
                    f"step {place} of the script was not reached: the connection was closed",
                )
                raise
            except ValueError as error:
                self._fail(number, f"step {place} of the script: {error}")
        self._run.tell("played", "the script has been played to its end", number)

    async def _step(
        self,
        connection: Connection | None,
        playing: _Playing,
        step: Mapping[str, Any],
        began: float,
    ) -> None:
        """Play one step. Raises ValueError if it is impossible, or a message is missing."""
        if "at" in step:
            await asyncio.sleep(began + step["at"] - asyncio.get_running_loop().time())
        if "when" in step:
            await self._came(playing, step["when"], step.get("within"))
        if "expect" in step:
            within = step.get("within", WITHIN)
            if not await self._came(playing, step["expect"], within):
                raise ValueError(
                    f"expected {step['expect']} within {within:g} s; no such message came"
                )
        if connection:
            for data in self._data(step):
                connection.write(data)
        if "do" in step:
            await self._do(*next(iter(step["do"].items())))
        if step.keys() & {"fault", "no-fault"}:
            self._deviate(step.get("fault"), step.get("no-fault"))
        if connection and step.get("disconnect"):
            connection.close("the script says so")

    def _data(self, step: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the bytes that a step sends."""
        if "send" in step:
            yield self._protocol.codec.encode(step["send"])
        if "text" in step:
            yield str(step["text"]).encode()
        if "hex" in step:
            yield bytes.fromhex(str(step["hex"]))

    async def _do(self, operation: str, args: Any) -> None:
        """Run an operation of the upper tester. Raises ValueError if it fails."""
        try:
            async with asyncio.timeout(WITHIN):
                await self._run.offered.wait()
        except TimeoutError:
            raise ValueError(f"{operation} needs --upper-tester") from None
        if operation not in self._run.operations:
            raise ValueError(
                f"there is no operation {operation!r}; known: {[*self._run.operations]}"
            )
        try:
            result = await self._run.operations[operation](args or {})
        except (Refused, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{operation}: {error}") from error
        found = result.result if isinstance(result, Warned) else result
        self._run.tell("done", f"{operation}: {found!r}", operation=operation, result=found)

    async def _came(self, playing: _Playing, wanted: Any, within: float | None) -> bool:
        """Wait for messages; after a timeout, the messages read so far can be awaited again."""
        rest = list(wanted) if isinstance(wanted, list) else [wanted]
        passed: list[Frame] = []
        try:
            async with asyncio.timeout(within):
                while rest:
                    frame = await playing.came.get()
                    if _is(rest[0], frame):
                        del rest[0]
                    else:
                        passed.append(frame)
                return True
        except TimeoutError:
            while not playing.came.empty():
                passed.append(playing.came.get_nowait())
            for frame in passed[-KEPT:]:
                playing.came.put_nowait(frame)
            return False

    def _deviate(self, added: str | None, removed: str | None) -> None:
        """Give the mock a fault, or remove one."""
        faults = [name for name in self._faults if name not in (added, removed)]
        self._faults = [*faults, added] if added else faults
        deviations.change(self._run.peer, str(self._role), self._faults, *self._others)

    def _fail(self, number: int | None, why: str) -> None:
        self.failures += 1
        self._run.tell("unplayed", why, number)


def _is(wanted: Any, frame: Frame) -> bool:
    """Return whether a message has the wanted name and contains the wanted value."""
    form = wanted if isinstance(wanted, dict) else {"name": wanted}
    named = form.get("name") in (None, frame.name)
    return named and _within(form.get("value"), frame.value)


def _within(wanted: Any, value: Any) -> bool:
    """Return whether a value contains the wanted value.

    Objects must contain the wanted members; any other value must be equal. None matches everything.
    """
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(name in value and _within(each, value[name]) for name, each in wanted.items())
    return wanted is None or bool(wanted == value)
