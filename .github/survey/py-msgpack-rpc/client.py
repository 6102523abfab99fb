"""A client with py-msgpack-rpc (PyPI), which has no notifications."""

import asyncio
import sys

import operations
from py_msgpack_rpc import AsyncClientBuilder


async def main():
    builder = AsyncClientBuilder()
    builder.connect_tcp(sys.argv[1], int(sys.argv[2]))
    async with await builder.build() as client:
        await operations.serve(lambda method, given: client.call(method, *given))


asyncio.run(main())
