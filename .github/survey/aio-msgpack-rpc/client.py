"""A client with aio-msgpack-rpc (PyPI)."""

import asyncio
import sys

import aio_msgpack_rpc
import operations


async def main():
    client = aio_msgpack_rpc.Client(*await asyncio.open_connection(sys.argv[1], int(sys.argv[2])))
    await operations.serve(
        lambda method, arguments: client.call(method, *arguments),
        lambda method, arguments: client.notify(method, *arguments),
    )


asyncio.run(main())
