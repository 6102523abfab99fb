"""The tester of an IUT with buffers: runs operations, and reads shared memory."""

import asyncio
import contextlib
import secrets
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.definitions import locations
from conformance.harness import memory
from conformance.harness.deadlines import countdown_from, in_time
from conformance.harness.memory import Locked, NoObject, SharedObject
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.mutex import BrokenMutex
from conformance.runtime.memory import catalog, lists
from conformance.runtime.memory.bits import find_bits
from conformance.runtime.memory.buffer import RELEASED, Buffer
from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.declared_layout import LayoutError, parse_layout
from conformance.runtime.memory.held_time import HeldTime
from conformance.runtime.memory.layout import Layout
from conformance.runtime.memory.layout_checks import check_layout
from conformance.runtime.memory.lists import Lists
from conformance.runtime.tester import (
    check_running,
    has_answered,
    operation_timeout,
    shut_down,
)
from conformance.session import Session
from conformance.verdicts import (
    Conclusion,
    Hindered,
    Inconclusive,
    NotExercised,
    Unreachable,
    Violation,
)

ROBOT = "robot.yaml"
ONE = "one.yaml"  # a catalog with a single peripheral
# cached, because most tests of a run use the same catalog
_read = lru_cache(maxsize=8)(catalog.load)
_CYCLES = "the device process runs cycles by itself"
_POLL = 0.005  # seconds between two checks


def catalogs() -> Path:
    """Return the folder of the catalogs for tests."""
    folder = locations.folder("captures", "runtime")
    assert folder is not None
    return folder / "catalogs"


ARM = "arm"
"""A type of the usual catalog."""
OWN_REQUIREMENTS = {
    "get_value": "get-value.value",
    "set_value": "set-value.value",
    "get_read": "get-read.names",
    "set_read": "set-read.sets",
    "get_write": "get-write.values",
    "get_update": "get-update.values",
    "set_data": "set-data.values",
    "set_valid": "set-valid.sets",
    "set_sub": "set-sub.fields",
    "cycle": "cycle.dev-read",
}
"""The requirement that describes an operation, by operation."""


class Tester:
    """A session with an IUT that has buffers, and the opened buffers."""

    def __init__(self, iut: Iut, session: Session) -> None:
        self.iut = iut
        self.session = session
        self.owns = "connect" in session.role.hooks
        """True if the IUT creates the buffers, False if the tester does."""
        self.catalog: Mapping[str, Peripheral] = {}
        self.buffers: list[Buffer] = []
        self.names: set[str] = set()
        """Names of objects to remove at the end, whatever the IUT does."""
        self.uid: type[str] | type[int] = str
        """The form of a UID that the IUT accepts."""
        self._layouts: dict[str, Layout] = {}
        self._of: dict[str, tuple[str, int]] = {}
        """By buffer: the type and the UID of the peripheral that connected first."""
        self._invalid: set[str] = set()
        """Buffers that were invalid after their peripherals had connected."""
        self.holding = HeldTime(lambda: session.now)
        self._among_others = True
        self.is_control = False
        """True if the session only finds out if an operation is ever answered."""
        self._answered: set[str] = iut.facts.setdefault("answered operations", set())

    # Operations

    async def ask(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation and return its answer. Raises Violation if no answer arrives.

        Raises Unreachable if the IUT has not answered any operation. Raises NotExercised if cycles
        of the device process would undo the operation.
        """
        if operation == "set_read":
            for buffer in self.buffers:
                if buffer.name == arguments.get("buffer"):
                    await self.require_no_cycles(buffer)
        others: Lists = self.iut.facts.setdefault(lists.NAME, Lists())
        listing = operation == "list"
        for _ in range(lists.MAX_ATTEMPTS):
            before = others.quiet
            one = others.one(self.iut, self._among_others)
            async with one if listing else contextlib.nullcontext():
                answer, waits = await self._ask_once(operation, **arguments)
            if not answer.ok:
                self._check_mutex(arguments.get("buffer"))
            alone = not waits if listing else before is not None and before == others.quiet
            if answer.ok or alone:
                return answer
        if waits:
            raise Hindered(waits)
        return answer

    def _check_mutex(self, name: str | None) -> None:
        """Raise Violation if the buffer of a failed operation has lost its mutex."""
        for buffer in self.buffers:
            if buffer.name == name:
                buffer.is_free()

    @contextlib.asynccontextmanager
    async def exclude_other_lists(self) -> AsyncIterator[None]:
        """Within the block no other IUT lists buffers. All objects are removed at its end."""
        async with lists.lock_folder(self.iut, shared=False):
            self._among_others = False
            try:
                yield
            finally:
                self.tidy()

    async def _ask_once(self, operation: str, **arguments: Any) -> tuple[Answer, str]:
        """Run an operation once; return its answer, and a reason for waiting."""
        instance = self.session.instance
        limit, waits = operation_timeout(self.session), ""
        try:
            asked = asyncio.ensure_future(self.session.operate(operation, **arguments))
            if operation == "list":
                await asyncio.wait({asked}, timeout=self.session.seconds("quiet"))
                waits = "" if asked.done() else self._waits_for_others()
            before = self.holding.seconds
            with self.session.deadline("an answer", limit, RELEASED) as left:
                answer = await in_time(asked, lambda: left() + self.holding.seconds - before)
        except TimeoutError:
            if not has_answered(self.session):
                text = f"it did not answer the operation '{operation}' within {limit:g} s"
                how = instance.upper.output_hint or instance.describe_end()
                raise Unreachable(text + how) from None
            await self.check_nothing_stuck(operation)
            if operation == "list" and (waits := waits or self._waits_for_others()):
                raise Hindered(waits) from None
            await self.check_answered_alone(operation, arguments)
            expected = f"the operation '{operation}' to be answered"
            came = f"it was not answered within {limit:g} s{instance.upper.output_hint}"
            raise Violation(expected, came) from None
        except Inconclusive:
            await check_running(instance, operation)
            raise
        self._answered.add(operation)
        return answer, waits

    async def check_answered_alone(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Raise Violation if a new IUT does not answer an operation either.

        The new IUT runs the operation on a new buffer, while nobody else uses that buffer. The
        violation is of the requirement that describes the operation.
        """
        own, session = OWN_REQUIREMENTS.get(operation, ""), self.session
        if operation in self._answered or self.is_control or not own:
            return
        if session.role.name not in session.protocol.requirement(own).binds:
            return

        async def is_answered() -> bool:
            try:
                async with memory_tester(Iut(self.iut.testbed, "")) as alone:
                    alone.is_control = True
                    return await alone.answers(operation, arguments)
            except (Conclusion, OSError):
                return True

        if not await self.iut.cached(f"{operation} is answered", is_answered):
            expected = f"the operation '{operation}' to be answered"
            raise Violation(expected, "no answer came, nor from a new IUT with a new buffer", own)

    async def answers(self, operation: str, arguments: Mapping[str, Any]) -> bool:
        """Return True if an operation is answered, on a new buffer and with other arguments."""
        if "buffer" in arguments:
            type_ = str(arguments.get("type"))
            buffer = await self.valid_buffer(type_ if type_ in self.catalog else ARM)
            arguments = {**arguments, **buffer.arguments}
        asked = asyncio.ensure_future(self.session.operate(operation, **arguments))
        try:
            await in_time(asked, self.session.countdown(operation_timeout(self.session)))
        except TimeoutError:
            return False
        return True

    async def check_nothing_stuck(self, operation: str) -> None:
        """Raise Violation if a mutex is locked, which explains why there is no answer."""
        for buffer in self.buffers:
            with contextlib.suppress(BrokenMutex, NoObject):
                try:
                    async with buffer.object.locked(countdown_from(0)):
                        pass
                except Locked:
                    raise Violation(
                        f"the mutex of {buffer.name} to be free",
                        f"it is locked, and the operation '{operation}' is not answered",
                        RELEASED,
                    ) from None

    def _waits_for_others(self) -> str:
        return lists.describe_held_buffer(
            self.session.instance.configuration.value("buffer_name"),
            {type_: self._layouts.get(type_) for type_ in self.catalog},
            self.names,
        )

    async def check_operation(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation under test. Raises Violation if it fails."""
        answer = await self.ask(operation, **arguments)
        if not answer.ok:
            if (name := arguments.get("buffer")) in self._invalid:
                expected = f"the valid bit of {name} to be set when its peripheral connected"
                raise Violation(expected, "it was clear", "lifecycle.created-valid")
            for buffer in self.buffers:
                if buffer.name == name:
                    buffer.check_kept()
            expected = f"the operation '{operation}' to succeed"
            raise Violation(expected, f"it failed: {answer.why}")
        return answer

    async def require(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation that a test needs as a means. Raises Inconclusive if it fails."""
        answer = await self.ask(operation, **arguments)
        answer.require_result(operation)
        return answer

    async def load(self, name: str | Path = ROBOT) -> None:
        """Make the IUT read a catalog; the tester reads it too."""
        await self.require("catalog", path=self._read_catalog(name))

    def _read_catalog(self, name: str | Path) -> str:
        """Read a catalog and forget all layouts; return its path."""
        path = catalogs() / name
        self.catalog = _read(path.read_bytes())
        self._layouts.clear()
        return str(path)

    async def check_understands(self, name: str | Path, access: bool = True) -> None:
        """Make the IUT read a catalog and report the layout of every type.

        Raises Violation if the IUT fails, or if a parameter is missing in a layout.
        """
        await self.check_operation("catalog", path=self._read_catalog(name))
        for type_ in self.catalog:
            await self.layout(type_, access, self.check_operation)

    async def layout(
        self,
        type_: str,
        access: bool = True,
        asked: Callable[..., Awaitable[Answer]] | None = None,
    ) -> Layout:
        """Return the IUT's layout of a type, checked by `check_layout`.

        Raises Inconclusive if the IUT reports none. If ``asked`` is `check_operation`, it raises a
        Violation instead.
        """
        if type_ not in self._layouts:
            peripheral = self.catalog[type_]
            answer = await (asked or self.require)("layout", type=type_)
            try:
                layout = parse_layout(answer.result, peripheral)
            except LayoutError as error:
                raise Inconclusive(f"the layout of {type_} is wrong: {error}") from error
            try:
                check_layout(layout, peripheral, access)
            except Violation as wrong:
                role, protocol = self.session.role, self.session.protocol
                if role.name in protocol.requirement(wrong.requirement or "").binds:
                    raise
                # The requirement does not bind this role. The layout is not a valid C structure.
                about = "buffers.shared-memory"
                raise Violation(wrong.expected, wrong.came, about, wrong.event) from wrong
            self._layouts[type_] = layout
        return self._layouts[type_]

    # An owner's buffers

    async def with_uid(self, operation: str, uid: int, **arguments: Any) -> Answer:
        """Run an operation with a UID as a string, or else as a number."""
        answer = await self.ask(operation, uid=self.uid(uid), **arguments)
        if not answer.ok and self.uid is str:
            second = await self.ask(operation, uid=uid, **arguments)
            self.uid = int if second.ok else str
            return second
        return answer

    async def connect(self, type_: str, uid: int | None = None) -> Buffer:
        """Connect a peripheral, by default a new one, and return its buffer."""
        await self.layout_with_bits(type_)
        chosen = new_uid() if uid is None else uid
        buffer = await self._connect_once(type_, chosen)
        of = self._of.setdefault(buffer.name, (type_, chosen))
        if of != (type_, chosen):
            expected = f"different buffers for the {type_} {chosen} and the {of[0]} {of[1]}"
            raise Violation(expected, f"both have {buffer.name[:80]}", "buffers.one-each")
        return buffer

    async def require_no_cycles(self, buffer: Buffer) -> None:
        """Raise NotExercised if the device process runs cycles without an operation."""

        async def are_seen() -> bool:
            every = buffer.bits(param.name for param in buffer.peripheral.params)
            async with buffer.hold():
                buffer.poke({"control.read": every})
            cleared = await self.until(lambda: not buffer.peek_at("control.read"), "quiet")
            async with buffer.hold():
                buffer.poke({"control.read": 0})
            return cleared

        smart = self.owns and buffer.layout.control
        if smart and await self.iut.cached(_CYCLES, are_seen):
            raise NotExercised(
                "the device process clears the Read bitmap by itself; during the tests, let it run "
                "cycles only upon the operation cycle"
            )

    async def _connect_once(self, type_: str, uid: int) -> Buffer:
        answer = await self.with_uid("connect", uid, type=type_)
        result = answer.require_result("connect")
        name = result.get("buffer") if isinstance(result, dict) else result
        if not isinstance(name, str):
            raise Inconclusive("the operation 'connect' does not return the name of the buffer")
        buffer = await self.open(name, type_)
        buffer.uid = uid
        if not buffer.peek_at("valid"):
            self._invalid.add(buffer.name)
        return buffer

    async def open(self, name: str, type_: str) -> Buffer:
        """Open a buffer of the IUT. Raises Violation if it does not exist."""
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
            raise Violation(expected, f"it has {opened.size} bytes", "buffers.shared-memory")
        return buffer

    async def can_connect(self, type_: str) -> bool:
        """Return True if a peripheral of a type can be connected."""
        answer = await self.with_uid("connect", new_uid(), type=type_)
        if isinstance(answer.result, dict):
            self.names.add(str(answer.result.get("buffer")))
        return answer.ok

    async def valid_buffer(self, type_: str) -> Buffer:
        """Return a valid buffer of a type, from the owner or newly created."""
        return await (self.connect(type_) if self.owns else self.make(type_))

    # Buffers for a consumer

    async def make(self, type_: str, valid: bool = True, name: str | None = None) -> Buffer:
        """Create a buffer in the IUT's layout, with a different value in every field.

        The default name is a new one.
        """
        layout = await self.layout_with_bits(type_)
        buffer = self._make(type_, layout, name or self.new_name(type_))
        await buffer.fill()
        await buffer.put({"valid": int(valid)})
        return buffer

    def new_name(self, type_: str) -> str:
        """Return an unused name for a buffer of a type."""
        template = self.session.instance.configuration.value("buffer_name")
        return template.replace("{type}", type_).replace("{uid}", str(new_uid()))

    def _make(self, type_: str, layout: Layout, name: str) -> Buffer:
        try:
            made = SharedObject.create(name, layout.size, layout["mutex"].offset)
        except NoObject as error:
            raise NotExercised(f"shared memory cannot be created here: {error}") from error
        self.names.add(name)
        buffer = Buffer(self, self.catalog[type_], layout, made)
        self.buffers.append(buffer)
        return buffer

    # The bits of parameters

    async def layout_with_bits(self, type_: str) -> Layout:
        """Return the layout of a type with the bits of all parameters.

        If the IUT does not declare the bits, the tester finds them with the IUT's operations.
        """
        layout = await self.layout(type_)
        peripheral = self.catalog[type_]
        if layout.bits or not layout.control:
            return layout
        known: dict[Peripheral, dict[str, int]] = self.iut.facts.setdefault("bits", {})
        if peripheral not in known:
            known[peripheral] = {}
            with contextlib.suppress(Conclusion):
                known[peripheral] = await find_bits(await self._blank(type_, layout))
        self._layouts[type_] = replace(layout, bits=known[peripheral])
        return self._layouts[type_]

    async def _blank(self, type_: str, layout: Layout) -> Buffer:
        """Return a valid buffer without knowledge of the bits of parameters."""
        if self.owns:
            return await self._connect_once(type_, new_uid())
        buffer = self._make(type_, layout, self.new_name(type_))
        await buffer.put({"valid": 1})
        return buffer

    # The end

    async def check_unlinks(self, buffers: Sequence[Buffer]) -> None:
        """Shut down the IUT. Raises Violation unless it unlinks these buffers."""
        await shut_down(self.session)
        await self.until(lambda: not any(memory.inode(each.name) for each in buffers), "response")
        for buffer in buffers:
            if memory.inode(buffer.name) is not None:
                raise Violation(
                    f"{buffer.name} to be unlinked when its owner exits", "it still exists"
                )

    async def until(self, wanted: Callable[[], bool], timing: str) -> bool:
        """Check a condition repeatedly until it is True or the timing has passed."""
        left = self.session.countdown(timing)
        while not wanted():
            if left() < 0:
                return False
            await asyncio.sleep(_POLL)
        return True

    def tidy(self) -> None:
        """Remove all objects that the tester or the IUT has created."""
        _remove(self.names)

    def close(self) -> None:
        for buffer in self.buffers:
            buffer.object.close()
        self.tidy()
        # Another instance can create objects again that it no longer finds.
        self.iut.testbed.cleanup.callback(_remove, self.names)


def _remove(names: Collection[str]) -> None:
    for name in names:
        memory.remove(name)


@contextlib.asynccontextmanager
async def memory_tester(iut: Iut, catalog: str | None = ROBOT) -> AsyncIterator[Tester]:
    """Start an IUT that reads a catalog, and its tester. All objects are removed at the end."""
    made: Tester | None = None
    try:
        with blame_this_machine():
            async with iut.session() as session:
                made = Tester(iut, session)
                if catalog is not None:
                    await made.load(catalog)
                yield made
    finally:
        if made is not None:
            made.close()


@contextlib.contextmanager
def blame_this_machine() -> Iterator[None]:
    """Raise Inconclusive if a test fails while this machine cannot hold shared memory."""
    try:
        yield
    except Conclusion as failed:
        if reason := memory.obstacle():
            raise Inconclusive(f"{reason}. Then: {failed}") from failed
        raise


def new_uid() -> int:
    """Return an unused UID that any JSON library reads exactly."""
    return secrets.randbits(48)
