"""Faults of the server with messages of no meaning."""

from mocks.deltarobot import defects
from mocks.deltarobot.server import Server
from mocks.fault import fault


@fault("closes-upon-unknown", violates="messages.unknown-skipped")
class ClosesUponUnknown(defects.ClosesUponUnknown, Server):
    """Closes the connection upon a message of an unknown type."""


@fault("closes-upon-variable", violates="messages.unknown-skipped", subtle=True)
class ClosesUponVariable(defects.ClosesUponVariable, Server):
    """Closes the connection upon an unknown message of variable length."""


@fault("closes-upon-highest", violates="messages.unknown-skipped", subtle=True)
class ClosesUponHighest(defects.ClosesUponHighest, Server):
    """Closes the connection upon the type 0xFFF."""


@fault("skips-five-hundred", violates="messages.unknown-skipped", subtle=True)
class SkipsFiveHundred(defects.SkipsFiveHundred, Server):
    """Closes the connection once it has skipped 500 messages."""


@fault("ends-by-type-alone", violates="messages.whole-identifier")
class EndsByTypeAlone(defects.EndsByTypeAlone, Server):
    """Takes a message of the type 0x006 and any size for an end of transmission."""


@fault("large-ends", violates="messages.whole-identifier", subtle=True)
class LargeEnds(defects.LargeEnds, Server):
    """Takes a message 0x4006 for an end of transmission."""


@fault("sends-null", violates="messages.null-not-sent")
class SendsNull(defects.SendsNull, Server):
    """Sends one message of the null type."""


@fault("sends-unknown", violates="messages.defined-only")
class SendsUnknown(defects.SendsUnknown, Server):
    """Sends one message of a type that version 1 does not have."""


@fault("closes-upon-null", violates="messages.null-skipped")
class ClosesUponNull(defects.ClosesUponNull, Server):
    """Closes the connection upon a message of the null type."""


@fault("closes-upon-empty-null", violates="messages.null-skipped", subtle=True)
class ClosesUponEmptyNull(defects.ClosesUponEmptyNull, Server):
    """Closes the connection upon a null message without contents."""
