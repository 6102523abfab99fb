"""A buffer that the tester has opened, and images of its bytes.

Tests compare images field by field.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.harness import memory
from conformance.harness.memory import Locked, NoObject, SharedObject, Shortened
from conformance.mutex import BrokenMutex, ForeignMutex, WrittenOver
from conformance.runtime.memory.catalog import KINDS, REAL, Peripheral
from conformance.runtime.memory.layout import Field, Layout
from conformance.runtime.memory.samples import fill_values
from conformance.verdicts import NotExercised, Violation

if TYPE_CHECKING:
    from conformance.runtime.memory.tester import Tester

RELEASED = "operations.mutex-released"
_BEFORE = 1.0  # seconds that a timestamp can be early: fractions of a second are optional
_SLACK = 0.05  # seconds of tolerance between two clocks


@dataclass(frozen=True)
class Image:
    """All bytes of a buffer at one moment; ``event`` is the index of its transcript event."""

    buffer: "Buffer"
    data: bytes
    event: int
    at: float

    def raw(self, field: str) -> bytes:
        return self.buffer.layout[field].of(self.data)

    def __getitem__(self, field: str) -> Any:
        return self.buffer.layout[field].decode(self.raw(field))

    def check_fields(self, expected: Mapping[str, Any], requirement: str | None = None) -> None:
        """Raise Violation unless these fields have these values; see `has_value`."""
        for name, value in expected.items():
            field = self.buffer.layout[name]
            if not has_value(field, self.data, value):
                self._same(field, bytes_of(field, value), value, requirement)

    def check_valid(self) -> None:
        """Raise Violation unless the valid bit is set; other bits of its byte are ignored."""
        if not self["valid"]:
            expected = f"{self.buffer.place('valid')} to be set"
            raise Violation(expected, "it is clear", event=self.event)

    def check_only(
        self, before: "Image", changed: Collection[str], requirement: str | None = None
    ) -> None:
        """Raise Violation if a field that is not in ``changed`` differs from the earlier image."""
        for name, field in self.buffer.layout.fields.items():
            if name != "mutex" and name not in changed:
                self._same(field, before.raw(name), before[name], requirement)

    def check_stamped(self, block: str, since: float, requirement: str | None = None) -> None:
        """Raise Violation unless a block's timestamp is between `since` and now."""
        name = f"{block}.timestamp"
        if not since - _BEFORE - _SLACK <= self[name] <= self.at + _SLACK:
            raise Violation(
                f"{self.buffer.place(name)} to be the time of the operation, about {since:.3f}",
                f"it is {self.raw(name).hex()} ({self[name]!r})",
                requirement,
                self._wrong(self.buffer.layout[name], f"about {since:.3f}"),
            )

    def _same(self, field: Field, raw: bytes, value: Any, requirement: str | None) -> None:
        found = field.of(self.data)
        if found != raw:
            came = f"it is {found.hex() or 'beyond the end'}"
            came += f" ({field.decode(found)!r})" if len(found) == field.size else ""
            expected = f"{self.buffer.place(field.name)} to be {raw.hex()} ({value!r})"
            raise Violation(expected, came, requirement, self._wrong(field, raw.hex()))

    def _wrong(self, field: Field, expected: str) -> int:
        """Add an event with a wrong field's bytes; return the event's index."""
        found = {f"{field.name} @{field.offset}": field.of(self.data).hex(), "expected": expected}
        return self.buffer.tester.session.note("wrong", None, buffer=self.buffer.name, **found)


class Buffer:
    """A buffer that the tester has opened."""

    def __init__(
        self, tester: "Tester", peripheral: Peripheral, layout: Layout, opened: SharedObject
    ) -> None:
        self.tester = tester
        self.peripheral = peripheral
        self.layout = layout
        self.object = opened
        self.name = opened.name
        self.uid = 0
        """The UID of the peripheral, if the IUT owns the buffer."""
        self.reported: dict[str, Any] = {}
        """By parameter: the last correct value that the IUT reported."""
        self._latest = b""

    def place(self, field: str) -> str:
        """Describe the position of a field."""
        where = self.layout[field]
        return f"{field} of {self.name} (offset {where.offset}, {where.size} bytes)"

    def bits(self, names: Iterable[str]) -> int:
        """Return the bitmap of these parameters."""
        return self.layout.bitmap(self.peripheral, names)

    def names_of(self, bitmap: int) -> list[str]:
        """Return the parameters whose bits are set."""
        return [p.name for p in self.peripheral.params if bitmap & self.bits([p.name])]

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments that identify the buffer in an operation."""
        return {"buffer": self.name, "type": self.peripheral.name}

    def check_kept(self) -> None:
        """Raise Violation unless the name still refers to the same object.

        An owner keeps the object, and a consumer never unlinks it.
        """
        inode = memory.inode(self.name)
        if inode != self.object.inode:
            raise Violation(
                f"{self.name} to stay the same object (inode {self.object.inode})",
                "it no longer exists" if inode is None else f"it is another object (inode {inode})",
                "lifecycle.kept" if self.tester.owns else "lifecycle.never-unlinks",
            )

    def check_shared(self) -> None:
        """Raise Violation of format.mutex if the mutex is private to a process."""
        if self.object.private:
            expected = f"{self.place('mutex')} to be created with PTHREAD_PROCESS_SHARED"
            found = self.layout["mutex"].of(self.object.read()).hex()
            raise Violation(expected, f"it is private to a process: {found}", "format.mutex")

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the mutex within the block. Raises Violation if it is not free in time."""
        session = self.tester.session
        asked = session.now
        try:
            with self._judged_mutex():
                async with contextlib.AsyncExitStack() as holding:
                    with session.deadline("a free mutex", "response", RELEASED) as left:
                        await holding.enter_async_context(self.object.locked(left))
                    holding.enter_context(self.tester.holding.one())
                    yield
        except Locked:
            raise Violation(
                f"the mutex of {self.name} to be free",
                f"it was still held after {session.now - asked:.1f} s",
                RELEASED,
            ) from None

    def is_free(self) -> bool:
        """Return True if the mutex is free. Raises Violation if it is no mutex any more."""
        with self._judged_mutex():
            free = self.object.trylock()
            if free:
                self.object.unlock()
            return free

    @contextlib.contextmanager
    def _judged_mutex(self) -> Iterator[None]:
        """Raise Violation if the mutex is broken or lost within the block."""
        try:
            yield
        except ForeignMutex as error:
            raise NotExercised(f"needs an IUT with the C library of the tests: {error}") from error
        except WrittenOver as error:
            expected = f"the mutex of {self.name} to stay unchanged while the tester holds it"
            raise Violation(expected, str(error), "operations.mutex") from error
        except Shortened as error:
            expected = f"{self.name} to keep its {self.object.size} bytes"
            raise Violation(expected, str(error), self._about_size) from error
        except (BrokenMutex, NoObject) as error:
            expected = f"a mutex at offset {self.layout['mutex'].offset} of {self.name}"
            # A mutex that the tester has created was correct before.
            about = "format.mutex" if self.tester.owns else "operations.mutex"
            raise Violation(expected, str(error), about) from error

    async def look(self) -> Image:
        """Return the current contents, read while the mutex is held."""
        async with self.hold():
            return self.peek()

    def peek(self) -> Image:
        """Return the current contents, read without the mutex."""
        data = self._bytes()
        event = self.tester.session.note("memory", None, buffer=self.name, **self._news(data))
        return Image(self, data, event, time.time())

    def _bytes(self) -> bytes:
        """Return all current bytes. Raises Violation if the object has been shortened."""
        data = self.object.read()
        if len(data) < self.layout.size:
            expected = f"{self.name} to keep its {self.layout.size} bytes"
            raise Violation(expected, f"it has {len(data)} bytes", self._about_size)
        return data

    @property
    def contents(self) -> Sequence[bytes]:
        """The current bytes of all fields except the mutex; adds no event to the transcript."""
        data, fields = self.object.read(), self.layout.fields
        return [field.of(data) for name, field in fields.items() if name != "mutex"]

    def peek_at(self, field: str) -> Any:
        """Return the current value of one field; adds no event to the transcript."""
        where = self.layout[field]
        return where.decode(where.of(self._bytes()))

    def _news(self, data: bytes) -> dict[str, Any]:
        """Return the details for the transcript: first all bytes, later only changed fields."""
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
        """Write fields as another process could; return the contents afterwards."""
        if any(values.get(f"control.{bitmap}") for bitmap in ("read", "write")):
            await self.tester.require_no_cycles(self)
        async with self.hold():
            self.poke(values)
            return self.peek()

    def poke(self, values: Mapping[str, Any]) -> None:
        """Write fields without the mutex; writing a parameter updates its block's timestamp."""
        stamps = {
            f"{block}.timestamp": time.time()
            for block in ("read", "write")
            if any(name.startswith(f"{block}.params.") for name in values)
        }
        now = {name: at for name, at in stamps.items() if name in self.layout.fields}
        for name, value in {**now, **values}.items():
            field = self.layout[name]
            try:
                self.object.write(field.offset, bytes_of(field, value))
            except NoObject as error:
                expected = f"{self.name} to keep its {self.layout.size} bytes"
                raise Violation(expected, str(error), self._about_size) from error

    @property
    def _about_size(self) -> str:
        """The requirement that an IUT violates if it shortens an object."""
        return "lifecycle.kept" if self.tester.owns else "operations.nothing-else"

    async def fill(self) -> Image:
        """Give every field except `valid` its own value, so that every change is noticed."""
        return await self.put(fill_values(self.peripheral, self.layout))


def has_value(field: Field, image: bytes, value: Any) -> bool:
    """Return True if a field has this value; 0.0 and -0.0 are the same.

    Raises Violation if a field of the control block is too narrow.
    """
    found = field.of(image)
    if found == bytes_of(field, value):
        return True
    is_real = KINDS.get(field.type) == REAL and len(found) == field.size
    return bool(is_real and field.decode(found) == value)


def bytes_of(field: Field, value: Any) -> bytes:
    """Return the bytes of a value; bytes are returned unchanged.

    Raises Violation if a field of the control block is too narrow.
    """
    if isinstance(value, bytes):
        return value
    try:
        return field.encode(value)
    except ValueError as error:
        if field.type:
            raise
        expected = f"as many bits for {field.name} as in the published figure"
        raise Violation(expected, str(error), "format.control-widths") from error
