"""Mocks in separate processes, as a user starts them, and requests to them."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

DEADLINE = 20.0  # seconds that a mock can take for anything


@asynccontextmanager
async def mock(*words: str) -> AsyncIterator[Any]:
    """Start a mock with pipes for its standard streams, and stop it after the block."""
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
    """Return the address that a mock prints: with an upper tester on stderr."""
    line = await asyncio.wait_for(getattr(process, stream).readline(), DEADLINE)
    return str(line.split()[-1].decode())


async def ask(process: Any, op: str, **args: Any) -> Any:
    """Run an operation of the upper tester; return the whole answer."""
    process.stdin.write(json.dumps({"id": 1, "op": op, "args": args}).encode() + b"\n")
    line = await asyncio.wait_for(process.stdout.readline(), DEADLINE)
    return json.loads(line)


async def ended(process: Any) -> int:
    """Close a mock's standard input; return its exit code."""
    process.stdin.close()
    return int(await asyncio.wait_for(process.wait(), DEADLINE))
