"""A server with aio-msgpack-rpc (PyPI)."""

import asyncio
import sys
from types import SimpleNamespace

import aio_msgpack_rpc
from procedures import ALL


async def sleep(seconds):
    await asyncio.sleep(seconds)


async def main():
    handler = SimpleNamespace(**{**ALL, "sleep": sleep})
    server = aio_msgpack_rpc.Server(handler)
    async with await asyncio.start_server(server, "127.0.0.1", int(sys.argv[1])) as listening:
        await listening.serve_forever()


asyncio.run(main())
