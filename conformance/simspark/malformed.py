"""Malformed texts and wrong lengths, and checks that the IUT survives them."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from conformance.cases import check, compared
from conformance.iut import Iut
from conformance.memory import check_growth, final_growth, memory_growth
from conformance.session import Session
from conformance.simspark.codec import LENGTH, frame
from conformance.verdicts import Inconclusive, Violation

USUAL = 1 << 14  # bytes; agents, trainers and servers send agents no longer messages
_DEPTH = 100_000

TEXTS = {
    "never closed": frame(b"(reqfullstate (a"),
    "closed too often": frame(b")))) (a)) ("),
    "not ASCII": frame(b"(reqfullstate \xff\xfe)(\xc3\xa4 \x80)"),
    "binary": frame(bytes(range(256))),
    "nested deeply": frame(b"(" * _DEPTH + b")" * _DEPTH),
    "nested deeply and never closed": frame(b"(" * _DEPTH),
}
"""Complete messages with a correct length and a malformed text, by the kind of error."""

# A lenient server can execute this command at any later time. Therefore tests must not check for
# its effect.
_TEXT = b"(reqfullstate (a)(b))"
LENGTHS = {
    "its own four bytes too large": (len(_TEXT) + 4).to_bytes(4, "big") + _TEXT,
    "one too small": (len(_TEXT) - 1).to_bytes(4, "big") + _TEXT,
    "in the other byte order": len(_TEXT).to_bytes(4, "little") + _TEXT,
    "missing": _TEXT,
}
"""Messages with a wrong length, by the kind of error."""


HIGH_BITS = (24, 31)  # bit numbers of a length, which readers with a signed or short length ignore


def message_beyond_bit(bit: int, inside: bytes) -> bytes:
    """Return the beginning of a message whose length has only one high bit set.

    A reader that ignores the bit, or drops a negative length, sees ``inside`` as a message.
    """
    return (1 << bit).to_bytes(LENGTH.size, "big") + inside


def check_read_in_full(bit: int, inside: bool) -> None:
    """Raise Violation if the IUT took the contents of an incomplete message for a message.

    ``inside`` says that the effect of the contents was seen.
    """
    check(
        not inside,
        f"the IUT to read a length above {1 << bit:#x} in full",
        "the IUT took bytes inside the incomplete message for a message",
    )


@contextlib.asynccontextmanager
async def can_refuse(session: Session, size: int) -> AsyncIterator[None]:
    """Raise Inconclusive for a violation if the IUT closes the connection of a long message.

    The specification has no limit, and no usual message has more than `USUAL` bytes.
    """
    try:
        yield
    except Violation as wrong:
        if size <= USUAL or not session.closed_by_iut:
            raise
        await session.assert_alive(f"a message of {size} bytes")
        session.excuse_end()
        closed = f"the IUT closed the connection at a message of {size} bytes"
        raise Inconclusive(closed) from wrong


class Tester(Protocol):
    """Interface of the server that the suite plays against a client."""

    session: Session

    def long(self, size: int) -> bytes:
        """Return a usual message whose text has `size` bytes."""

    async def check_continues(
        self, after: str, *, may_close: bool = False, prefix: bytes = b""
    ) -> None:
        """Raise Violation unless the client takes the messages that follow.

        With ``may_close``, closing the connection is also a pass. ``prefix`` are bytes sent in one
        write with the next message.
        """


async def check_survived(
    iut: Iut,
    begun: Callable[[Iut], AbstractAsyncContextManager[Tester]],
    data: bytes,
    what: str,
) -> None:
    """Raise Violation unless the client survives a malformed message.

    The client must close the connection or take the next messages.
    """

    async def play(malformed: bool) -> None:
        async with begun(iut) as tester:
            usual = tester.long(len(data) - LENGTH.size)
            if malformed:
                await tester.check_continues(what, may_close=True, prefix=data)
            else:
                await tester.session.send_bytes(usual)
                await tester.check_continues("a long message of the usual form")

    await compared(iut, play, True, False, "frame.length-prefix")


async def check_outlived(session: Session, data: bytes, then: bytes, what: str) -> None:
    """Send `data`, then the bytes `then`, then close. Raise Violation if the IUT crashes.

    Also raises Violation if the process takes a gibibyte of memory or more.
    """
    async with memory_growth(session) as growth:
        for some in (data, then):
            await session.send_bytes(some)
            await session.until_closed(session.seconds("quiet") / 2)
        await session.assert_alive(what)
        check_growth(await final_growth(session, growth))
    await session.finish()
    await session.until_closed(session.seconds("quiet"))
    await session.assert_alive(f"{what}, and the end of the connection")
