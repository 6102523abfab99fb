"""Finds out where a stream of messages gets out of step with its identifiers."""

from conformance.deltarobot.codec import SIZES, VARIABLE, layouts

_MOST = 64  # bytes of contents that a message of fixed length is tried with


def misfit(data: bytes) -> str | None:
    """Which message of fixed length seems to have contents of another, or None.

    It is one behind which nothing known follows, whereas something does a little before or behind.
    """
    known = layouts()
    at, latest = 0, -1
    while len(data) - at >= 2:
        identifier = _identifier(data, at)
        if identifier not in known and not _leads_on(data, at):
            break
        latest, at = at, at + _length(data, at)
    if latest < 0 or len(data) - at in (0, 1):
        return None
    identifier = _identifier(data, latest)
    size = SIZES.get(identifier >> 12)
    if identifier not in known or size is None:
        return None
    start = latest + 2
    for length in range(1, _MOST):
        if length != size and _identifier(data, start + length) in known:
            name = known[identifier].name
            return f"{name} has {length} bytes of contents where its identifier says {size}"
    return None


def _identifier(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _length(data: bytes, at: int) -> int:
    """How long a message is; everything that is left where that cannot be told."""
    size = data[at + 1] >> 4
    if size == VARIABLE:
        return 6 + int.from_bytes(data[at + 2 : at + 6], "little")
    return 2 + SIZES[size] if size in SIZES else len(data) - at


def _leads_on(data: bytes, at: int) -> bool:
    """Whether an unknown message of a defined size is followed by a known one, or by nothing."""
    if data[at + 1] >> 4 not in (*SIZES, VARIABLE):
        return False
    following = at + _length(data, at)
    return following == len(data) or _identifier(data, following) in layouts()
