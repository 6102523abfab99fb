"""Mocks as processes that stand alone, as one starts them by hand, and what one asks of them."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

DEADLINE = 20.0  # seconds that anything of a mock may take at most


@asynccontextmanager
async def mock(*words: str) -> AsyncIterator[Any]:
    """A mock's process, with pipes for all its standard streams; it is gone afterwards."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mocks", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def place(process: Any, stream: str = "stdout") -> str:
    """The address at which a mock says that it listens: on stderr where it has an upper tester."""
    line = await asyncio.wait_for(getattr(process, stream).readline(), DEADLINE)
    return str(line.split()[-1].decode())


async def ask(process: Any, op: str, **args: Any) -> Any:
    """Run an operation of the upper tester; the whole answer."""
    process.stdin.write(json.dumps({"id": 1, "op": op, "args": args}).encode() + b"\n")
    line = await asyncio.wait_for(process.stdout.readline(), DEADLINE)
    return json.loads(line)


async def ended(process: Any) -> int:
    """End a mock's input; the exit code with which it then ends."""
    process.stdin.close()
    return int(await asyncio.wait_for(process.wait(), DEADLINE))
