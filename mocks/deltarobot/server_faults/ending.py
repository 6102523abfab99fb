"""Faults of the server at the end of a session, and in what it survives."""

from mocks.deltarobot import defects
from mocks.deltarobot.server import Server
from mocks.fault import fault


@fault("no-word-at-the-end", violates="end.announced")
class NoWordAtTheEnd(defects.NoWordAtTheEnd, Server):
    """Closes the connection without an end of transmission."""


@fault("reason-in-latin-1", violates="end.reason-ascii")
class ReasonInLatin1(defects.ReasonInLatin1, Server):
    """Puts letters that are not ASCII into its reason."""


@fault("wants-a-reason", violates="end.reason-optional")
class WantsAReason(defects.WantsAReason, Server):
    """Passes over an end of transmission without a reason."""


@fault("stays-open", violates="end.closes")
class StaysOpen(defects.StaysOpen, Server):
    """Leaves the connection open after its end of transmission."""


@fault("one-more-word", violates="end.nothing-after", subtle=True)
class OneMoreWord(defects.OneMoreWord, Server):
    """Sends two ends of transmission."""


@fault("ignores-ends", violates="end.received")
class IgnoresEnds(defects.IgnoresEnds, Server):
    """Stays whatever the peer ends."""


@fault("dies-of-reason", violates="end.received", subtle=True)
class DiesOfReason(defects.DiesOfReason, Server):
    """Dies of a reason that is not ASCII."""


@fault("dies-of-abrupt-ends", violates="end.abrupt")
class DiesOfAbruptEnds(defects.DiesOfAbruptEnds, Server):
    """Dies if the peer goes without a word."""


@fault("dies-inside-messages", violates="end.abrupt", subtle=True)
class DiesInsideMessages(defects.DiesInsideMessages, Server):
    """Dies if the peer goes inside a message."""


@fault("closes-upon-foreign", violates="robustness.foreign-messages")
class ClosesUponForeign(defects.ClosesUponForeign, Server):
    """Closes the connection upon a message of its own role."""


@fault("dies-of-second-handshake", violates="robustness.second-handshake")
class DiesOfSecondHandshake(defects.DiesOfSecondHandshake, Server):
    """Dies of a second handshake."""


@fault("dies-of-other-version", violates="robustness.second-handshake", subtle=True)
class DiesOfOtherVersion(defects.DiesOfOtherVersion, Server):
    """Dies of a second version that is another."""


@fault("signed-lengths", violates="robustness.huge-length")
class SignedLengths(defects.SignedLengths, Server):
    """Takes lengths for signed and dies of negative ones."""


@fault("dies-of-huge-curves", violates="robustness.huge-length", subtle=True)
class DiesOfHugeCurves(defects.DiesOfHugeCurves, Server):
    """Dies of a curve that does not fit into memory."""


@fault("dies-of-undefined", violates="robustness.undefined-sizes")
class DiesOfUndefined(defects.DiesOfUndefined, Server):
    """Dies of an undefined size identifier."""


@fault("dies-of-last-undefined", violates="robustness.undefined-sizes", subtle=True)
class DiesOfLastUndefined(defects.DiesOfLastUndefined, Server):
    """Dies of the size identifier 0xE."""
