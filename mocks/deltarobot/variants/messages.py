"""Variants of the reaction to messages without a meaning."""

from collections.abc import Callable

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN
from mocks.deltarobot.session import Session
from mocks.deviations import Table, Variant
from mocks.steps import Change, When, instead

OF_OWN_ROLE = When(lambda _, frame: frame.name != UNKNOWN)


def _kind(chosen: Callable[[int], bool]) -> When:
    """If the message has no known identifier, and its type identifier is a chosen one."""
    return When(
        lambda _, frame: (
            frame.name == UNKNOWN and chosen(int(frame.value["identifier"], 16) & 0xFFF)
        )
    )


def closes_upon(when: When) -> Change:
    """Close the connection after some of the messages that this side could skip."""
    return instead("skip", _object, when)


def _object(session: Session, frame: Frame) -> None:
    what = frame.value["identifier"] if frame.name == UNKNOWN else frame.name
    session.end(f"{what} is not for me")


def _is_long(_: Session, frame: Frame) -> bool:
    return len(frame.raw) >= 65_536


VARIANTS = Table(Session)

VARIANTS["messages.unknown-skipped"] = {
    "closes-upon-unknown": Variant(
        "Closes the connection after an unknown type, or after a message of its own role.",
        closes_upon(OF_OWN_ROLE | _kind(lambda kind: kind > 9)),
    ),
    "knows-what-it-knows": Variant(
        "Closes the connection after any message with an unknown identifier, null or not.",
        closes_upon(~OF_OWN_ROLE),
    ),
    "closes-upon-long-unknown": Variant(
        "Closes the connection after an unknown message of 64 KiB or more.",
        closes_upon(_kind(lambda kind: kind > 9) & _is_long),
    ),
}

VARIANTS["messages.null-skipped"] = {
    "closes-upon-null": Variant(
        "Closes the connection after a message of the null type.",
        closes_upon(_kind(lambda kind: kind == 0)),
    ),
}

VARIANTS["messages.whole-identifier"] = {
    "closes-upon-other-sizes": Variant(
        "Closes the connection after a message of a known type with another size.",
        closes_upon(_kind(lambda kind: 0 < kind <= 9)),
    ),
}
