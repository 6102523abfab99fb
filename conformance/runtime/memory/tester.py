"""The tester of an IUT that has buffers: it works the IUT's operations, and looks at its memory."""

import asyncio
import contextlib
import secrets
import string
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from conformance import locate
from conformance.harness import memory
from conformance.harness.memory import Locked, NoObject, SharedObject
from conformance.harness.upper import Answer
from conformance.iut import Iut
from conformance.mutex import BrokenMutex
from conformance.runtime.memory import catalog
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.declared import LayoutError, declared
from conformance.runtime.memory.layout import Layout
from conformance.runtime.memory.layout_checks import check_layout
from conformance.session import PATIENCE, Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

ROBOT = "robot.yaml"
_POLL = 0.005  # seconds between two looks


def catalogs() -> Path:
    """The folder of the catalogs that were written by hand."""
    folder = locate.folder("captures", "runtime")
    assert folder is not None
    return folder / "catalogs"


class Tester:
    """One session with an IUT that has buffers, and what the tester has open of them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.catalog: dict[str, Peripheral] = {}
        self.buffers: list[Buffer] = []
        self.names: set[str] = set()
        """Objects that must not be left behind, whatever the IUT does."""
        self.uid: type[str] | type[int] = str
        """In which form the IUT takes a UID."""
        self._layouts: dict[str, Layout] = {}
        self._asked = False

    # Operations

    async def ask(self, operation: str, **arguments: Any) -> Answer:
        """What an operation answers. Raises Violation where that never comes.

        Where not even the first is answered, nothing is known of the IUT: raises Unreachable.
        """
        instance = self.session.instance
        limit = (1 + PATIENCE) * self.session.seconds("response")
        limit += 0 if self._asked else self.session.seconds("startup")
        try:
            async with asyncio.timeout(limit):
                answer = await self.session.operate(operation, **arguments)
        except TimeoutError:
            if not self._asked:
                text = f"it did not answer the operation '{operation}' within {limit:g} s"
                raise Unreachable(text + instance.describe_end()) from None
            await self._nobody_waits_in_vain()
            expected = f"the operation '{operation}' to be answered"
            raise Violation(expected, f"it was not within {limit:g} s") from None
        except Inconclusive:
            process = instance.process
            if process and await process.wait(self.session.seconds("quiet")):
                expected = f"the operation '{operation}' to be answered"
                raise Violation(expected, f"it was not{instance.describe_end()}") from None
            raise
        self._asked = True
        return answer

    async def _nobody_waits_in_vain(self) -> None:
        """Raise Violation where a mutex is left locked: what waits for it says nothing else."""
        for buffer in self.buffers:
            with contextlib.suppress(BrokenMutex, NoObject):
                try:
                    async with buffer.object.locked(0):
                        pass
                except Locked:
                    raise Violation(
                        f"the mutex of {buffer.name} to be free",
                        "it is held, and the operation waits for it",
                        "operations.mutex-released",
                    ) from None

    async def tested(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation that a test is about. Raises Violation where it fails."""
        answer = await self.ask(operation, **arguments)
        if not answer.ok:
            expected = f"the operation '{operation}' to succeed"
            raise Violation(expected, f"it failed: {str(answer.error)[:300]}")
        return answer

    async def means(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation that a test only needs. Raises Inconclusive where it fails."""
        answer = await self.ask(operation, **arguments)
        if not answer.ok:
            said = str(answer.error)[:300]
            raise Inconclusive(f"the operation '{operation}' failed: {said}")
        return answer

    async def load(self, name: str | Path = ROBOT) -> None:
        """Have the IUT read a catalog; we read it, too."""
        path = catalogs() / name
        self.catalog = catalog.load(path.read_bytes())
        self._layouts.clear()
        await self.means("catalog", path=str(path))

    async def layout(self, type_: str, access: bool = True) -> Layout:
        """The IUT's layout of a type, as it has to be (`check_layout`).

        Raises Inconclusive where it does not tell one.
        """
        if type_ not in self._layouts:
            peripheral = self.catalog[type_]
            answer = await self.means("layout", type=type_)
            try:
                layout = declared(answer.result, peripheral)
            except LayoutError as error:
                raise Inconclusive(f"the layout of {type_} is none: {error}") from error
            check_layout(layout, peripheral, access)
            self._layouts[type_] = layout
        return self._layouts[type_]

    # An owner's buffers

    async def with_uid(self, operation: str, uid: int, **arguments: Any) -> Answer:
        """Run an operation with a UID: as a string or, where that is refused, as a number."""
        answer = await self.ask(operation, uid=self.uid(uid), **arguments)
        if not answer.ok and self.uid is str:
            second = await self.ask(operation, uid=uid, **arguments)
            self.uid = int if second.ok else str
            return second
        return answer

    async def connect(self, type_: str, uid: int | None = None) -> Buffer:
        """Have a peripheral connected, by default a new one; its buffer."""
        chosen = new_uid() if uid is None else uid
        answer = await self.with_uid("connect", chosen, type=type_)
        if not answer.ok:
            raise Inconclusive(f"the operation 'connect' failed: {str(answer.error)[:300]}")
        told = answer.result.get("buffer") if isinstance(answer.result, dict) else answer.result
        if not isinstance(told, str):
            raise Inconclusive("the operation 'connect' does not tell the name of the buffer")
        return await self.open(told, type_)

    async def open(self, name: str, type_: str) -> Buffer:
        """Open a buffer of the IUT. Raises Violation where there is none."""
        layout = await self.layout(type_)
        self.names.add(name)
        try:
            opened = SharedObject.open(name, layout["mutex"].offset)
        except NoObject as error:
            expected = f"a shared memory object with {layout.size} bytes named {name[:80]}"
            raise Violation(expected, str(error), "buffers.shared-memory") from error
        buffer = Buffer(self, self.catalog[type_], layout, opened)
        self.buffers.append(buffer)
        if opened.size < layout.size:
            expected = f"{name} to have the {layout.size} bytes of its layout"
            raise Violation(expected, f"it has {opened.size}", "buffers.shared-memory")
        return buffer

    # Buffers for a consumer

    async def make(self, type_: str, valid: bool = True) -> Buffer:
        """Make a buffer in the IUT's layout, every field of which has a value of its own."""
        layout = await self.layout(type_)
        name = f"rt-{type_}-{new_uid()}-{_suffix()}"
        try:
            made = SharedObject.create(name, layout.size, layout["mutex"].offset)
        except NoObject as error:
            raise NotExercised(f"shared memory cannot be made here: {error}") from error
        self.names.add(name)
        buffer = Buffer(self, self.catalog[type_], layout, made)
        self.buffers.append(buffer)
        await buffer.fill()
        await buffer.put({"valid": int(valid)})
        return buffer

    # The end

    async def shut_down(self) -> None:
        """End the IUT's input, which tells it to end. Raises Inconclusive where it does not."""
        process = self.session.instance.process
        if process is None:
            raise NotExercised("needs an IUT that is started by a command: its end is looked at")
        process.standard.finish()
        within = self.session.seconds("startup") + self.session.seconds("response")
        if not await process.wait(within):
            raise Inconclusive(f"it did not end within {within:g} s after the end of its input")

    async def until(self, wanted: Callable[[], bool], timing: str) -> bool:
        """Look again and again whether something is so, for as long as a timing says."""
        deadline = self.session.now + self.session.seconds(timing)
        while not wanted():
            if self.session.now > deadline:
                return False
            await asyncio.sleep(_POLL)
        return True

    def close(self) -> None:
        for buffer in self.buffers:
            buffer.object.close()


@contextlib.asynccontextmanager
async def memory_tester(iut: Iut, catalog: str | None = ROBOT) -> AsyncIterator[Tester]:
    """The tester of an IUT of its own, which has read a catalog; nothing is left behind."""
    made: Tester | None = None
    try:
        async with iut.session() as session:
            made = Tester(session)
            if catalog is not None:
                await made.load(catalog)
            yield made
    finally:
        if made is not None:
            made.close()
            for name in made.names:
                memory.remove(name)


def new_uid() -> int:
    """A UID that nobody else has, and that any JSON library reads as it is."""
    return secrets.randbits(48)


def _suffix() -> str:
    return "x" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(8))
