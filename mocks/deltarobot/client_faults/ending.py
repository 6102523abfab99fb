"""Faults of the client at the end of a session, and in what it survives."""

from mocks.deltarobot import defects
from mocks.deltarobot.client import Client
from mocks.fault import fault


@fault("no-word-at-the-end", violates="end.announced")
class NoWordAtTheEnd(defects.NoWordAtTheEnd, Client):
    """Closes the connection without an end of transmission."""


@fault("reason-in-latin-1", violates="end.reason-ascii")
class ReasonInLatin1(defects.ReasonInLatin1, Client):
    """Puts letters that are not ASCII into its reason."""


@fault("wants-a-reason", violates="end.reason-optional")
class WantsAReason(defects.WantsAReason, Client):
    """Passes over an end of transmission without a reason."""


@fault("stays-open", violates="end.closes")
class StaysOpen(defects.StaysOpen, Client):
    """Leaves the connection open after its end of transmission."""


@fault("one-more-word", violates="end.nothing-after", subtle=True)
class OneMoreWord(defects.OneMoreWord, Client):
    """Sends two ends of transmission."""


@fault("ignores-ends", violates="end.received")
class IgnoresEnds(defects.IgnoresEnds, Client):
    """Stays whatever the peer ends."""


@fault("dies-of-reason", violates="end.received", subtle=True)
class DiesOfReason(defects.DiesOfReason, Client):
    """Dies of a reason that is not ASCII."""


@fault("dies-of-abrupt-ends", violates="end.abrupt")
class DiesOfAbruptEnds(defects.DiesOfAbruptEnds, Client):
    """Dies if the peer goes without a word."""


@fault("dies-inside-messages", violates="end.abrupt", subtle=True)
class DiesInsideMessages(defects.DiesInsideMessages, Client):
    """Dies if the peer goes inside a message."""


@fault("closes-upon-foreign", violates="robustness.foreign-messages")
class ClosesUponForeign(defects.ClosesUponForeign, Client):
    """Closes the connection upon a message of its own role."""


@fault("dies-of-second-handshake", violates="robustness.second-handshake")
class DiesOfSecondHandshake(defects.DiesOfSecondHandshake, Client):
    """Dies of a second handshake."""


@fault("dies-of-other-version", violates="robustness.second-handshake", subtle=True)
class DiesOfOtherVersion(defects.DiesOfOtherVersion, Client):
    """Dies of a second version that is another."""


@fault("signed-lengths", violates="robustness.huge-length")
class SignedLengths(defects.SignedLengths, Client):
    """Takes lengths for signed and dies of negative ones."""


@fault("dies-of-huge-curves", violates="robustness.huge-length", subtle=True)
class DiesOfHugeCurves(defects.DiesOfHugeCurves, Client):
    """Dies of a curve that does not fit into memory."""


@fault("dies-of-undefined", violates="robustness.undefined-sizes")
class DiesOfUndefined(defects.DiesOfUndefined, Client):
    """Dies of an undefined size identifier."""


@fault("dies-of-last-undefined", violates="robustness.undefined-sizes", subtle=True)
class DiesOfLastUndefined(defects.DiesOfLastUndefined, Client):
    """Dies of the size identifier 0xE."""
