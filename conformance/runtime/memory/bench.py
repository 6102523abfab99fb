"""How test cases work with an IUT that has buffers: its operations, and its memory byte by byte.

A test holds a bench. On it lie buffers, those of an owner or those made for a consumer; what a test
sees of one is an image, and what it expects of an image is compared field by field.
"""

import asyncio
import contextlib
import secrets
import string
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance import locate
from conformance.harness import memory
from conformance.harness.memory import Locked, NoObject, SharedObject
from conformance.harness.upper import Answer
from conformance.iut import Iut
from conformance.mutex import BrokenMutex
from conformance.runtime.memory import catalog
from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.declared import LayoutError, declared
from conformance.runtime.memory.fitting import check_layout
from conformance.runtime.memory.layout import Field, Layout
from conformance.runtime.memory.samples import filling
from conformance.session import PATIENCE, Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

ROBOT = "robot.yaml"
_BEFORE = 1.0  # seconds that a timestamp may lie before its time: it need not have fractions
_SLACK = 0.05  # seconds by which clocks may differ
_POLL = 0.005  # seconds between two looks


def catalogs() -> Path:
    """The folder of the catalogs that were written by hand."""
    folder = locate.folder("captures", "runtime")
    assert folder is not None
    return folder / "catalogs"


@dataclass(frozen=True)
class Image:
    """All bytes that a buffer had at one moment; ``event`` is where the transcript has them."""

    buffer: "Buffer"
    data: bytes
    event: int
    at: float

    def raw(self, field: str) -> bytes:
        return self.buffer.layout[field].of(self.data)

    def __getitem__(self, field: str) -> Any:
        return self.buffer.layout[field].decode(self.raw(field))

    def holds(self, expected: Mapping[str, Any], requirement: str | None = None) -> None:
        """Raise Violation unless these fields have these values, bit by bit."""
        for name, value in expected.items():
            field = self.buffer.layout[name]
            self._same(field, field.encode(value), value, requirement)

    def only(
        self, before: "Image", changed: Collection[str], requirement: str | None = None
    ) -> None:
        """Raise Violation if any other field differs from what it was before."""
        for name, field in self.buffer.layout.fields.items():
            if name != "mutex" and name not in changed:
                self._same(field, before.raw(name), before[name], requirement)

    def stamped(self, block: str, since: float, requirement: str | None = None) -> None:
        """Raise Violation unless a block's timestamp is of the time between `since` and now."""
        name = f"{block}.timestamp"
        if not since - _BEFORE - _SLACK <= self[name] <= self.at + _SLACK:
            raise Violation(
                f"{self.buffer.place(name)} to be the time of the operation, about {since:.3f}",
                f"it is {self.raw(name).hex()} ({self[name]!r})",
                requirement,
                self.event,
            )

    def _same(self, field: Field, raw: bytes, value: Any, requirement: str | None) -> None:
        found = field.of(self.data)
        if found != raw:
            came = f"it is {found.hex() or 'beyond the end'}"
            came += f" ({field.decode(found)!r})" if len(found) == field.size else ""
            expected = f"{self.buffer.place(field.name)} to be {raw.hex()} ({value!r})"
            raise Violation(expected, came, requirement, self.event)


class Buffer:
    """One buffer, as the tester has it open."""

    def __init__(
        self, bench: "Bench", peripheral: Peripheral, layout: Layout, opened: SharedObject
    ) -> None:
        self.bench = bench
        self.peripheral = peripheral
        self.layout = layout
        self.object = opened
        self.name = opened.name
        self._latest = b""

    def place(self, field: str) -> str:
        """Where a field is, in words."""
        where = self.layout[field]
        return f"{field} of {self.name} (offset {where.offset}, {where.size} bytes)"

    @property
    def arguments(self) -> dict[str, str]:
        """What names it in an operation."""
        return {"buffer": self.name, "type": self.peripheral.name}

    def kept(self) -> None:
        """Raise Violation of lifecycle.kept unless the name still stands for the same object."""
        inode = memory.inode(self.name)
        if inode != self.object.inode:
            raise Violation(
                f"{self.name} to stay the same object (inode {self.object.inode})",
                "it is gone" if inode is None else f"it is another one (inode {inode})",
                "lifecycle.kept",
            )

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold its mutex. Raises Violation where it is not free in time."""
        within = self.bench.session.seconds("response")
        try:
            async with self.object.locked(within):
                yield
        except Locked:
            raise Violation(
                f"the mutex of {self.name} to be free",
                f"it was still held after {within:g} s",
                "operations.mutex-released",
            ) from None
        except (BrokenMutex, NoObject) as error:
            expected = f"a mutex at offset {self.layout['mutex'].offset} of {self.name}"
            raise Violation(expected, str(error), "format.mutex") from error

    async def look(self) -> Image:
        """What is in it now, while nobody else has its mutex."""
        async with self.held():
            return self.peek()

    def peek(self) -> Image:
        """What is in it now, whoever has its mutex."""
        data = self.object.read()
        if len(data) < self.layout.size:
            expected = f"{self.name} to keep its {self.layout.size} bytes"
            raise Violation(expected, f"it has {len(data)}", "lifecycle.kept")
        event = self.bench.session.note("memory", None, buffer=self.name, **self._news(data))
        return Image(self, data, event, time.time())

    def peek_at(self, field: str) -> Any:
        """The value that one field has now; no event of the transcript tells of it."""
        where = self.layout[field]
        return where.decode(where.of(self.object.read()))

    def _news(self, data: bytes) -> dict[str, Any]:
        """What is to be told of its bytes: all of them, then what has changed."""
        before, self._latest = self._latest, data
        if not before:
            return {"bytes": data[: self.layout.size].hex()}
        changed = {
            f"{name} @{field.offset}": f"{field.of(before).hex()} > {field.of(data).hex()}"
            for name, field in self.layout.fields.items()
            if name != "mutex" and field.of(before) != field.of(data)
        }
        return {"changed": changed}

    async def put(self, values: Mapping[str, Any]) -> Image:
        """Write fields, as another process might; returns what is in it then."""
        async with self.held():
            self.poke(values)
            return self.peek()

    def poke(self, values: Mapping[str, Any]) -> None:
        """Write fields without asking for the mutex."""
        for name, value in values.items():
            field = self.layout[name]
            try:
                self.object.write(field.offset, field.encode(value))
            except NoObject as error:
                expected = f"{self.name} to keep its {self.layout.size} bytes"
                raise Violation(expected, str(error), "lifecycle.kept") from error

    async def fill(self) -> Image:
        """Give every field but `valid` a value of its own, so that none can be lost unnoticed."""
        return await self.put(filling(self.peripheral, self.layout))


class Bench:
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
async def bench(iut: Iut, catalog: str | None = ROBOT) -> AsyncIterator[Bench]:
    """A bench with an IUT of its own, which has read a catalog; nothing of it is left behind."""
    made: Bench | None = None
    try:
        async with iut.session() as session:
            made = Bench(session)
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
