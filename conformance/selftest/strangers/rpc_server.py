"""A MessagePack-RPC server: rpc_server.py PORT [SWITCH[,SWITCH...]]."""

import asyncio
import io
import itertools
import os
import struct
import sys
import traceback
from typing import Any

SWITCHES = set(",".join(sys.argv[2:]).split(","))
MAX_DEPTH = 10**9 if "die-deep" in SWITCHES else 100
SCALARS = {0xC0: None, 0xC2: False, 0xC3: True}
NUMBERS = dict(zip(range(0xCA, 0xD4), "fdBHIQbhiq", strict=True))
calls = itertools.count(1)
tasks: set[asyncio.Future[Any]] = set()


class Refused(ValueError):
    """The connection is closed because of a malformed message."""


def take(source: io.BytesIO, count: int) -> bytes:
    if len(taken := source.read(count)) < count:
        raise EOFError
    return taken


def number(source: io.BytesIO, form: str) -> Any:
    return struct.unpack(">" + form, take(source, struct.calcsize(">" + form)))[0]


def read(source: io.BytesIO, depth: int = 0) -> Any:
    """Return the next object; raise EOFError if more must come, or Refused."""
    if depth > MAX_DEPTH:
        raise Refused("nested too deep")
    first = take(source, 1)[0]
    if first < 0x80 or first >= 0xE0:
        return first if first < 0x80 else first - 0x100
    if first in SCALARS:
        return SCALARS[first]
    if first in NUMBERS:
        if "close-float32" in SWITCHES and first == 0xCA:
            raise Refused("a float has 64 bits")
        value = number(source, NUMBERS[first])
        if "die-wide" in SWITCHES and first == 0xCF:
            struct.pack(">q", value)
        return value
    if first < 0x90 or first >= 0xDE:
        size = first & 15 if first < 0x90 else number(source, "HI"[first - 0xDE])
        pairs = [(read(source, depth + 1), read(source, depth + 1)) for _ in range(size)]
        return {repr(key) if isinstance(key, list | dict) else key: value for key, value in pairs}
    if first < 0xA0 or first >= 0xDC:
        size = first & 15 if first < 0xA0 else number(source, "HI"[first - 0xDC])
        return [read(source, depth + 1) for _ in range(size)]
    if 0xC4 <= first <= 0xC6:
        return take(source, number(source, "BHI"[first - 0xC4]))
    if first < 0xC0 or 0xD9 <= first <= 0xDB:
        size = first & 31 if first < 0xC0 else number(source, "BHI"[first - 0xD9])
        return take(source, size).decode(errors="replace")
    raise Refused(f"cannot read {first:#x}")


def packed(value: Any) -> bytes:
    """Return the object as MessagePack with lengths of 32 bits, which MessagePack permits."""
    match value:
        case None | False | True:
            return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
        case int():
            return struct.pack(">BQ" if value > 0 else ">Bq", 0xCF if value > 0 else 0xD3, value)
        case float():
            return struct.pack(">Bd", 0xCB, value)
        case str():
            return struct.pack(">BI", 0xDB, len(value.encode())) + value.encode()
        case bytes():
            return struct.pack(">BI", 0xC6, len(value)) + value
        case list():
            return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(packed, value))
        case dict():
            pairs = itertools.chain.from_iterable(value.items())
            return struct.pack(">BI", 0xDF, len(value)) + b"".join(map(packed, pairs))
    raise TypeError(f"{type(value)} is no MessagePack")


PROCEDURES: dict[str, Any] = {
    "echo": lambda *arguments: list(arguments),
    "subtract": lambda left, right: left - right,
    "fail": lambda: [][0],
    "nothing": lambda: None,
    "sleep": asyncio.sleep,
    "count": lambda: next(calls),
    "unencodable": object,
}


async def call(method: str, arguments: list[Any]) -> tuple[Any, Any]:
    try:
        result = PROCEDURES[method](*arguments)
        result = await result if asyncio.iscoroutine(result) else result
        packed(result)
    except Exception as error:
        return f"{type(error).__name__}: {error}", None
    return None, result


async def answer(to: asyncio.StreamWriter, id_: int, method: str, arguments: list[Any]) -> None:
    error, result = await call(method, arguments)
    if "close-fail" in SWITCHES and method == "fail":
        to.close()
    elif not to.is_closing() and not ("no-error" in SWITCHES and method not in PROCEDURES):
        to.write(packed([1, id_, error, result]))


def handle(message: Any, to: asyncio.StreamWriter) -> None:
    match message:
        case [0, int(id_), str(method), list(arguments)]:
            tasks.add(asyncio.ensure_future(answer(to, id_, method, arguments)))
        case [2, str(method), list(arguments)]:
            if "close-notification" in SWITCHES:
                raise Refused("a request has four elements")
            tasks.add(asyncio.ensure_future(call(method, arguments)))


async def serve(reader: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    data = b""
    try:
        while more := await reader.read(1 << 20):
            source = io.BytesIO(data + more)
            while data := source.getvalue()[source.tell() :]:
                try:
                    handle(read(source), to)
                except EOFError:
                    break
    except (Refused, OSError) as error:
        print("closing:", error, file=sys.stderr)
    except Exception:
        traceback.print_exc()
        os._exit(1)
    to.close()


async def main() -> None:
    await (await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))).serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
