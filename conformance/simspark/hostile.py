"""Malformed messages: texts that do not parse, wrong lengths; and what they may cost the IUT."""

from conformance.cases import check
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


def padded(message: bytes, size: int) -> bytes:
    """A message with so many blanks behind its text that it has that many bytes, if it has less."""
    return frame(message[LENGTH.size :].ljust(size - LENGTH.size))


def memory(session: Session) -> int:
    """The largest size in bytes that the IUT's process has had in memory; 0 if unknown."""
    process = session.instance.process
    return process.peak if process else 0


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
