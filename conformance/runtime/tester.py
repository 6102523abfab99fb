"""What the testers of several roles do: connect with an IUT, and have it do something."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, Unreachable

_EAGER = 0.5  # seconds in which an IUT that connects by itself usually has


@contextlib.asynccontextmanager
async def connected(iut: Iut, operation: str, **arguments: Any) -> AsyncIterator[Session]:
    """A session with an IUT that connects by itself, or else as soon as it has something to send.

    Where it does not connect soon, it is made to do this operation. What it then sends belongs to
    the session.
    """
    prompts: list[asyncio.Task[None]] = []
    async with iut.instance() as instance:
        prompt = asyncio.get_running_loop().call_later(
            _EAGER,
            lambda: prompts.append(asyncio.create_task(_prompt(instance, operation, arguments))),
        )
        try:
            async with iut.connect(instance) as session:
                prompt.cancel()
                yield session
        finally:
            prompt.cancel()
            await ended(prompts)


async def ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Give up what still runs."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _prompt(instance: Instance, operation: str, arguments: dict[str, Any]) -> None:
    with contextlib.suppress(Conclusion):
        await instance.upper(operation, **arguments)


async def takes_part(session: Session) -> None:
    """Raise Unreachable where the IUT ends at once: over datagrams nothing else tells."""
    process = session.instance.process
    if process and await process.wait(session.seconds("quiet")):
        raise Unreachable(f"it ends before it takes part{session.instance.describe_end()}")


async def done(session: Session, operation: str, **arguments: Any) -> Any:
    """The result of an operation that has to succeed. Raises Inconclusive where it does not."""
    answer = await session.operate(operation, **arguments)
    if not answer.ok:
        raise Inconclusive(f"the operation '{operation}' failed: {answer.error}"[:400])
    return answer.result
