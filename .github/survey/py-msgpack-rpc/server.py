"""A server with py-msgpack-rpc (PyPI)."""

import asyncio
import sys

from procedures import ALL
from py_msgpack_rpc import AsyncServerBuilder


async def main():
    builder = AsyncServerBuilder()
    for name, call in ALL.items():
        builder.add_method(name, call)
    builder.listen_tcp("127.0.0.1", int(sys.argv[1]))
    async with await builder.build() as server:
        await server.run()


asyncio.run(main())
