"""Faults of the consumer about listing, opening and closing buffers."""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from multiprocessing import resource_tracker
from typing import Any

from mocks.deviations import fault
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Buffer
from mocks.upper_tester import Warned


@fault("lists-all", violates="lifecycle.listed")
class ListsAll(Consumer):
    """Lists invalid buffers too."""

    async def list(self) -> list[str]:
        return [name for name in sorted(os.listdir(FOLDER)) if name.startswith("rt-")]


@fault("lists-eight", violates="lifecycle.listed", subtle=True)
class ListsEight(Consumer):
    """Lists at most eight buffers of each type."""

    async def list(self) -> list[str]:
        by_type: dict[str, list[str]] = {}
        for name in await super().list():
            by_type.setdefault(name.rpartition("-")[0], []).append(name)
        return [name for names in by_type.values() for name in names[:8]]


@fault("sixteen-views", violates="get-value.value", subtle=True)
class SixteenViews(Consumer):
    """Opens only sixteen buffers, and cannot read others."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        if buffer.name not in [*self.buffers][:16]:
            raise ValueError("too many buffers")
        return await super().get_value(buffer, name)


@fault("lists-what-it-listed", violates="lifecycle.listed", subtle=True)
class ListsWhatItListed(Consumer):
    """Continues to list buffers that it has listed before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: set[str] = set()

    async def list(self) -> list[str]:
        self.seen.update(await super().list())
        return sorted(self.seen)


@fault("lists-what-is-gone", violates="lifecycle.listed", subtle=True)
class ListsWhatIsGone(Consumer):
    """Lists a buffer that it has opened, although the buffer is unlinked."""

    async def list(self) -> list[str]:
        open_ = [name for name, buffer in self.buffers.items() if buffer["valid"]]
        return sorted({*open_, *await super().list()})


@fault("tracked", violates="lifecycle.never-unlinks", subtle=True)
class Tracked(Consumer):
    """Registers buffers with Python's resource tracker, which unlinks them after its exit."""

    def open(self, name: str, type_: str) -> Buffer:
        buffer = super().open(name, type_)
        resource_tracker.register(f"/{name}", "shared_memory")
        return buffer


@fault("invalid-reads-nothing", violates="lifecycle.invalid-absent")
class InvalidReadsNothing(Consumer):
    """Answers nil for an invalid buffer, and fails for a missing one."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        return await super().get_value(buffer, name) if buffer["valid"] else Warned(None, [])


@fault("makes-the-missing", violates="lifecycle.invalid-absent", subtle=True)
class MakesTheMissing(Consumer):
    """Creates an object if a buffer is missing."""

    def open(self, name: str, type_: str) -> Buffer:
        if name.startswith("rt-") and not (FOLDER / name).exists():
            Mapped.create(name, 1).close()
        return super().open(name, type_)


@fault("invalid-writes-nowhere", violates="lifecycle.invalid-absent", subtle=True)
class InvalidWritesNowhere(Consumer):
    """Accepts a value for an invalid buffer, and drops it."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        if buffer["valid"]:
            return await super().set_value(buffer, name, value)
        return Warned(None, [])


@fault("never-valid-again", violates="lifecycle.views-stay")
class NeverValidAgain(Consumer):
    """Never uses a buffer again that was invalid once."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.given_up: set[str] = set()

    def check_valid(self, buffer: Buffer) -> None:
        if not buffer["valid"]:
            self.given_up.add(buffer.name)
        if buffer.name in self.given_up:
            raise ValueError(f"{buffer.name} is invalid")


@fault("third-time-unlucky", violates="lifecycle.views-stay", subtle=True)
class ThirdTimeUnlucky(Consumer):
    """Never uses a buffer again that was invalid three times."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.times: dict[str, int] = {}

    def check_valid(self, buffer: Buffer) -> None:
        if not buffer["valid"]:
            self.times[buffer.name] = self.times.get(buffer.name, 0) + 1
        if self.times.get(buffer.name, 0) > 2:
            raise ValueError(f"{buffer.name} was invalid too often")
        super().check_valid(buffer)


@fault("unlinks-at-exit", violates="lifecycle.never-unlinks")
class UnlinksAtExit(Consumer):
    """Unlinks its open buffers at exit, as a resource tracker does."""

    def close(self) -> None:
        for buffer in self.buffers.values():
            buffer.mapped.unlink()
        super().close()


@fault("unlinks-invalid", violates="lifecycle.never-unlinks", subtle=True)
class UnlinksInvalid(Consumer):
    """Unlinks a buffer that has become invalid after its use."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.used: set[str] = set()

    def buffer(self, args: Mapping[str, Any]) -> Buffer:
        buffer = super().buffer(args)
        if buffer["valid"]:
            self.used.add(buffer.name)
        elif buffer.name in self.used:
            buffer.mapped.unlink()
        return buffer


@fault("opens-in-the-background", violates="lifecycle.lazy")
class OpensInTheBackground(Consumer):
    """Opens all existing buffers in the background."""

    def load(self, path: str) -> None:
        super().load(path)
        self.task = asyncio.get_running_loop().create_task(self.look())

    async def look(self) -> None:
        while True:
            for name in os.listdir(FOLDER):
                with contextlib.suppress(ValueError):
                    self.buffer({"buffer": name})
            await asyncio.sleep(0.05)


@fault("closes-in-the-background", violates="lifecycle.lazy", subtle=True)
class ClosesInTheBackground(Consumer):
    """Closes its views one second after it has opened them."""

    def open(self, name: str, type_: str) -> Buffer:
        buffer = super().open(name, type_)
        asyncio.get_running_loop().call_later(1.0, self.forget, buffer)
        return buffer

    def forget(self, buffer: Buffer) -> None:
        if self.buffers.get(buffer.name) is buffer:
            del self.buffers[buffer.name]
            buffer.mapped.close()


@fault("opens-its-like", violates="lifecycle.lazy", subtle=True)
class OpensItsLike(Consumer):
    """Opens all buffers of a type shortly after the first one."""

    def open(self, name: str, type_: str) -> Buffer:
        if not any(buffer.peripheral.name == type_ for buffer in self.buffers.values()):
            asyncio.get_running_loop().call_later(0.1, self.open_all, type_)
        return super().open(name, type_)

    def open_all(self, type_: str) -> None:
        for path in FOLDER.glob(f"rt-{type_}-*"):
            with contextlib.suppress(ValueError):
                self.buffer({"buffer": path.name})
