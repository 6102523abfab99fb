"""Start a simulator as a subprocess of the frontend mock, and read its standard error."""

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Callable

from mocks import run, streams
from mocks.streams import Stream

GRACE = 2.0  # seconds for a simulator to exit after its session


@contextlib.asynccontextmanager
async def simulator(
    command: list[str], said: Callable[[str], None] | None, longest: float = math.inf
) -> AsyncIterator[Stream]:
    """Start a simulator as a subprocess; yield a stream over its standard input and output.

    `said` receives each line of standard error; if it is None, nobody reads them. After a line of
    more than `longest` bytes nobody reads them any more.
    """
    its_input, our_output = os.pipe()
    our_input, its_output = os.pipe()
    stream = await streams.pipes(os.fdopen(our_input, "rb"), os.fdopen(our_output, "wb"))
    stream.serves_as(run.here().connection("stdio", f"starts {command[0]}"))
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=its_input, stdout=its_output, stderr=asyncio.subprocess.PIPE
        )
    finally:
        os.close(its_input)
        os.close(its_output)
    assert process.stderr
    listening = asyncio.ensure_future(
        _listen(process.stderr, said, longest) if said else asyncio.sleep(0)
    )
    try:
        yield stream
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await asyncio.shield(listening)
    finally:
        listening.cancel()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _listen(
    stderr: asyncio.StreamReader, said: Callable[[str], None], longest: float
) -> None:
    rest = b""
    while data := await stderr.read(streams.CHUNK):
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > longest:
            return
        if len(rest) > streams.CHUNK:
            lines, rest = [*lines, rest], b""
        for line in lines:
            said(line.decode(errors="replace"))
    if rest:
        said(rest.decode(errors="replace"))
