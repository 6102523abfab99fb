"""The tester of a gamepad receiver: sends input, and waits until the buffers show it."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from conformance.harness import memory
from conformance.iut import Iut
from conformance.runtime.memory.buffer import Buffer, Image, has_value
from conformance.runtime.memory.tester import ROBOT, Tester, blame_this_machine
from conformance.runtime.shapes import notification
from conformance.session import Session
from conformance.verdicts import Conclusion, Violation

AXES = ("lx", "ly", "rx", "ry")
TYPE = "gamepad"
_PLAIN = 16  # messages; enough to detect a receiver that skips some of them


def pad(btn: int = 0, /, **axes: float) -> dict[str, Any]:
    """Return one gamepad of a message, in its decoded form; other axes are at rest."""
    return {**dict.fromkeys(AXES, 0.0), **axes, "btn": btn}


class GamepadTester(Tester):
    """The tester of a receiver: its gamepads, and their buffers by index."""

    def __init__(self, iut: Iut, session: Session) -> None:
        super().__init__(iut, session)
        self.owns = True
        self.warnings: list[str] = []
        """Warnings of all answers so far, because a receiver can report each warning only once."""
        # contents of the buffers before the latest message
        self._before: dict[str, Sequence[bytes]] = {}
        self._several = False  # True if the latest message had several gamepads

    async def play(self, pads: Mapping[str, Any]) -> None:
        """Send one message with these gamepads."""
        self._before = {buffer.name: buffer.contents for buffer in self.buffers}
        self._several = len(pads) > 1
        await self.session.send(self.wrap({"gamepads": dict(pads)}))

    def _requirement_for(self, about: str | None) -> str | None:
        """Return the violated requirement: receiver.several if the message had several gamepads."""
        return "receiver.several" if about and self._several else about

    def wrap(self, message: Any) -> Any:
        """Return a message in the receiver's form: by itself, or in an RPC notification."""
        procedure = self.session.instance.configuration.value("envelope")
        return notification(procedure, message) if procedure else message

    async def buffer(self, index: str) -> Buffer | None:
        """Return the buffer of a gamepad, or None."""
        answer = await self.require("buffers")
        self.warnings += answer.warnings
        names = answer.result if isinstance(answer.result, dict) else {}
        self.names.update(entry for entry in names.values() if isinstance(entry, str))
        name = names.get(index)
        if not isinstance(name, str):
            return None
        known = next((buffer for buffer in self.buffers if buffer.name == name), None)
        if known is None:
            return await self.open(name, TYPE)
        known.check_kept()
        return known

    async def expect_buffer(
        self, index: str, about: str | None = "lifecycle.created-valid"
    ) -> Buffer:
        """Wait for the buffer of a gamepad and return it. Raises Violation if none appears."""
        about = self._requirement_for(about)
        found: list[Buffer | None] = []

        async def is_there() -> bool:
            found[:] = [await self.buffer(index)]
            return found[0] is not None

        if not await self.session.poll_until(
            is_there, "the buffer of a gamepad", "response", about
        ):
            raise Violation(f"a buffer for the gamepad {index}", "there is none", about)
        assert found[0] is not None
        return found[0]

    async def poll_until(
        self, index: str, values: Mapping[str, Any], about: str | None = "receiver.axes"
    ) -> Image:
        """Wait until the buffer of a gamepad has these values; return its image.

        Raises Violation with the actual values. `about` is the violated requirement (None: the
        requirement under test).
        """
        buffer = await (self.expect_buffer(index) if about else self.expect_buffer(index, None))
        about = self._requirement_for(about)
        fields = {f"read.params.{name}": value for name, value in values.items()}

        async def is_there() -> bool:
            async with buffer.hold():
                data = buffer.object.read()
                return all(
                    has_value(buffer.layout[name], data, value) for name, value in fields.items()
                )

        within = self.session.countdown("response")
        await self.session.poll_until(is_there, "the values of a gamepad", within, about)
        image = await buffer.look()
        try:
            image.check_fields(fields, about)
        except Violation as missing:
            await self.blame_skipped_messages(missing)
            raise
        return image

    async def blame_skipped_messages(self, missing: Violation) -> None:
        """Change the violated requirement to receiver.axes if the receiver skips plain messages.

        The messages are sent while no other process uses the mutex.
        """

        async def all_taken() -> bool:
            async with gamepad_tester(Iut(self.iut.testbed, "")) as plain:
                await plain.play({"0": pad(1)})
                other = await plain.expect_buffer("0")
                for number in range(1, _PLAIN):
                    lx = number / _PLAIN
                    await plain.play({"0": pad(1, lx=lx)})

                    async def is_there(lx: float = lx) -> bool:
                        return bool(other.peek_at("read.params.lx") == lx)

                    within = plain.session.countdown("response")
                    if not await plain.session.poll_until(is_there, "lx of a gamepad", within):
                        return False
                return True

        taken = True
        # Other violations are not about skipped messages.
        with contextlib.suppress(Conclusion):
            taken = await self.iut.cached("plain messages are taken", all_taken)
        if not taken:
            missing.requirement = "receiver.axes"

    async def play_and_expect(
        self,
        pads: Mapping[str, Any],
        index: str,
        values: Mapping[str, Any],
        about: str | None = "receiver.axes",
    ) -> Image:
        """Send a message, and wait until a gamepad's buffer has these values."""
        await self.play(pads)
        return await self.poll_until(index, values, about)


@contextlib.asynccontextmanager
async def gamepad_tester(iut: Iut) -> AsyncIterator[GamepadTester]:
    """Start a receiver and its tester. All objects are removed at the end."""
    made: GamepadTester | None = None
    try:
        with blame_this_machine():
            async with iut.session() as session:
                made = GamepadTester(iut, session)
                await made.load(ROBOT)
                yield made
                # Collect the names of all objects, to remove them even if the receiver is killed.
                with contextlib.suppress(Conclusion):
                    await made.buffer("")
    finally:
        if made is not None:
            made.close()
            for name in made.names:
                memory.remove(name)
