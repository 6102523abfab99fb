"""Faults in what every operation does."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from mocks.deviations import fault
from mocks.runtime.memory.peer import Asked, Buffer, Peer


@fault("no-mutex", violates="operations.mutex")
class NoMutex(Peer):
    """Does not care for the mutex."""

    async def acquire(self, buffer: Buffer) -> None:
        pass

    def release(self, buffer: Buffer) -> None:
        pass


@fault("kept-after-failures", violates="operations.mutex-released", subtle=True)
class KeptAfterFailures(Asked):
    """Does not release the mutex of a buffer that turns out to be invalid."""

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        await self.acquire(buffer)
        self.check_valid(buffer)
        try:
            yield
        finally:
            self.release(buffer)


@fault("validity-ignored", violates="operations.validity")
class ValidityIgnored(Asked):
    """Works with invalid buffers as with others."""

    def check_valid(self, buffer: Buffer) -> None:
        pass


@fault("validity-remembered", violates="operations.validity", subtle=True)
class ValidityRemembered(Asked):
    """Takes for valid what was valid before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.trusted: set[str] = set()

    def check_valid(self, buffer: Buffer) -> None:
        if buffer.name not in self.trusted:
            super().check_valid(buffer)
            self.trusted.add(buffer.name)


@fault("validity-before-the-mutex", violates="operations.validity", subtle=True)
class ValidityBeforeTheMutex(Asked):
    """Looks at the valid bit before it has the mutex, and not again."""

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        self.check_valid(buffer)
        await self.acquire(buffer)
        try:
            yield
        finally:
            self.release(buffer)
