"""Malformed messages: texts that do not parse, wrong lengths; and what they may cost the IUT."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from conformance.cases import check, compared
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.codec import LENGTH, frame

GIBIBYTE = 1 << 30
_DEPTH = 100_000

TEXTS = {
    "never closed": frame(b"(reqfullstate (a"),
    "closed too often": frame(b")))) (a)) ("),
    "not ASCII": frame(b"(reqfullstate \xff\xfe)(\xc3\xa4 \x80)"),
    "binary": frame(bytes(range(256))),
    "nested deeply": frame(b"(" * _DEPTH + b")" * _DEPTH),
    "nested deeply and never closed": frame(b"(" * _DEPTH),
}
"""Whole messages, by what is wrong with their texts."""

# A lenient server may do what it says, and any time later: no test must look for its effect.
_TEXT = b"(reqfullstate (a)(b))"
LENGTHS = {
    "its own four bytes too large": (len(_TEXT) + 4).to_bytes(4, "big") + _TEXT,
    "one too small": (len(_TEXT) - 1).to_bytes(4, "big") + _TEXT,
    "in the other byte order": len(_TEXT).to_bytes(4, "little") + _TEXT,
    "missing": _TEXT,
}
"""Messages by what is wrong with their lengths."""


HIGH_BITS = (24, 31)  # of a length, which many a reader leaves out


def beyond(bit: int, inside: bytes) -> bytes:
    """The beginning of a message whose length has one of the high bits, and what stands in it.

    Who leaves that bit out takes these bytes for a short text, and ``inside`` for the next message.
    """
    begun = b"(a (b"
    return ((1 << bit) + len(begun)).to_bytes(LENGTH.size, "big") + begun + inside


def taken_in_full(bit: int, inside: bool) -> None:
    """Raise Violation where what stands in such a message was taken for one, by its effect."""
    check(
        not inside,
        f"a length of {1 << bit:#x} and more to be taken in full",
        "what stands in that message was taken before all of it had come",
    )


def memory(session: Session) -> int:
    """The largest size in bytes that the IUT's process has had in memory; 0 if unknown."""
    process = session.instance.process
    return process.peak if process else 0


class Tester(Protocol):
    """The server that the suite plays against a client."""

    session: Session

    def long(self, size: int) -> bytes:
        """A message of its usual ones, whose text has so many bytes."""

    async def goes_on(self, after: str, *, may_close: bool = False, upon: bytes = b"") -> None:
        """Raise Violation unless the client takes what comes now, or closes where it may.

        What comes is in one write with the bytes ``upon`` which that is.
        """


async def survives(
    iut: Iut,
    begun: Callable[[Iut], AbstractAsyncContextManager[Tester]],
    data: bytes,
    what: str,
) -> None:
    """Raise Violation unless the client closes upon this message, or goes on with what follows."""

    async def play(malformed: bool) -> None:
        async with begun(iut) as tester:
            usual = tester.long(len(data) - LENGTH.size)
            if malformed:
                await tester.goes_on(what, may_close=True, upon=data)
            else:
                await tester.session.send_bytes(usual)
                await tester.goes_on("a long message")

    await compared(iut, play, True, False, "frame.length-prefix")


async def outlives(session: Session, data: bytes, then: bytes, what: str) -> None:
    """Raise Violation if the IUT dies of these bytes, of more then, or of the connection's end."""
    for some in (data, then):
        await session.send_bytes(some)
        await session.until_closed(session.seconds("quiet") / 2)
    await session.unharmed(what)
    taken = memory(session)
    check(taken < GIBIBYTE, "no gigabyte of memory", f"it took {taken >> 20} MiB")
    await session.finish()
    await session.until_closed(session.seconds("quiet"))
    await session.unharmed(f"{what}, and the end of the connection")
