"""Faults at the end of a session, and in the robustness against unusual input."""

import asyncio
from collections.abc import Callable
from typing import Any

from conformance.deltarobot.codec import UNKNOWN, message
from mocks.deltarobot.faults.building import SHAKEN, named
from mocks.deltarobot.session import END, MAGIC, VERSION, Session
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Change,
    When,
    before,
    die,
    first,
    having,
    instead,
    note,
    noted,
    only,
    send,
    skip,
    then,
)
from mocks.streams import Stream

OVERSIZED = named("Oversized")


def reason(change: Callable[[str], str]) -> Change:
    """Announce the end with what a function makes of the reason."""
    return instead(
        "announce_end",
        lambda peer, reason: peer.send(message(END, reason=change(reason))),
    )


def told(holds: Callable[[str], bool]) -> When:
    """If the reason of the peer's end has a property."""
    return When(lambda _, value: holds(value["reason"]))


def _announce(peer: Session, reason: str) -> None:
    peer.announce_end(reason)


def _as_qstring(reason: str) -> str:
    text = reason.encode("utf-16-le")
    return (len(text).to_bytes(4, "little") + text).decode("latin-1")


def _refuse_in_big_endian(peer: Session, why: str) -> None:
    reason = why.encode("ascii", "replace")
    peer.write(b"\x06\xf0" + len(reason).to_bytes(4, "big") + reason)
    peer.close()


FAULTS = Table(Session)

FAULTS["end.announced"] = {
    "no-word-at-the-end": Fault(
        "Announces that it refuses a handshake, but never the end of a session.",
        skip("announce_end", SHAKEN),
    ),
}

FAULTS["end.heeded"] = {
    "answers-after-the-end": Fault(
        "Goes on sending after the peer's end of transmission, as if only receiving ended.",
        instead("peer_ends", note("over")),
        only("take", named("Ping") | ~noted("over")),
    ),
}

FAULTS["end.reason-ascii"] = {
    "reason-in-latin-1": Fault(
        "Puts letters that are not ASCII into its reason.",
        reason(lambda text: f"{text} \xab\xe9\xbb"),
    ),
    "reason-in-utf-16": Subtle(
        "Sends the reason in UTF-16, the memory format of a QString.",
        reason(lambda text: text.encode("utf-16-le").decode("latin-1")),
    ),
    "reason-as-qstring": Subtle(
        "Sends the reason as QDataStream writes a QString: its length, then UTF-16.",
        reason(_as_qstring),
    ),
    "reason-with-its-length": Subtle(
        "Puts a byte with the length of the reason before it, as a BinaryWriter does.",
        reason(lambda text: f"{chr(len(text))}{text}"),
    ),
}

FAULTS["frame.variable-length"] = {
    "refusal-in-big-endian": Subtle(
        "Refuses a peer with a reason whose length is in big-endian.",
        instead("refuse", _refuse_in_big_endian),
    ),
}

FAULTS["end.reason-optional"] = {
    "wants-a-reason": Fault(
        "Ignores an end of transmission without a reason.", only("peer_ends", told(bool))
    ),
}

FAULTS["end.closes"] = {
    "stays-open": Fault(
        "Leaves the connection open after its end of transmission.",
        instead("end", _announce, SHAKEN),
    ),
    "refuses-and-stays": Subtle(
        "Leaves the connection open after an end of transmission that refuses its peer.",
        only("end", SHAKEN),
        instead("end", _announce, ~SHAKEN & first(1)),
    ),
}

FAULTS["end.nothing-after"] = {
    "one-more-word": Subtle(
        "Sends two ends of transmission.",
        then("announce_end", send(message(END, reason="really"))),
    ),
}

FAULTS["end.received"] = {
    "dies-of-reason": Subtle(
        "Crashes on a reason that is not ASCII.",
        before("peer_ends", die, told(lambda reason: not reason.isascii())),
    ),
    "reason-as-format": Subtle(
        "Crashes on a reason with a percent sign, which it uses as a format string.",
        before("peer_ends", die, told(lambda reason: "%" in reason)),
    ),
    "dies-of-long-reasons": Subtle(
        "Crashes on an end of transmission whose reason has more than 4096 bytes.",
        before("peer_ends", die, told(lambda reason: len(reason) > 4096)),
    ),
}

FAULTS["end.abrupt"] = {
    "dies-of-abrupt-ends": Fault(
        "Crashes if the peer disconnects without an end of transmission.",
        instead("input_ended", die),
    ),
    "dies-of-broken-pipes": Subtle(
        "Crashes if the connection breaks while there are messages to send.",
        before("input_ended", die, having("stream.broken")),
    ),
    "dies-inside-messages": Subtle(
        "Crashes if the peer disconnects inside a message.",
        before("input_ended", die, lambda peer: peer.decoder.end()),
    ),
}

FAULTS["robustness.foreign-messages"] = {
    "closes-upon-foreign": Fault(
        "Closes the connection after a message of its own role.",
        then(
            "skip",
            lambda peer, frame: peer.end(f"{frame.name} is not for this side"),
            ~named(UNKNOWN, MAGIC, VERSION),
        ),
    ),
}

FAULTS["robustness.second-handshake"] = {
    "dies-of-second-handshake": Fault(
        "Crashes on a second handshake.", before("skip", die, named(MAGIC, VERSION))
    ),
    "dies-of-other-version": Subtle(
        "Crashes on a second version message with another version.",
        before("skip", die, named(VERSION) & (lambda _, frame: frame.value["version"] != 1)),
    ),
}

FAULTS["robustness.huge-length"] = {
    "signed-lengths": Fault(
        "Reads lengths as signed numbers and crashes on negative ones.",
        before("take", die, OVERSIZED & (lambda _, frame: frame.value["length"] >= 1 << 31)),
    ),
    "dies-of-huge-curves": Subtle(
        "Crashes on a curve that does not fit into memory.",
        before("take", die, OVERSIZED & (lambda _, frame: frame.value["identifier"] == "0xf009")),
    ),
}

FAULTS["robustness.undefined-sizes"] = {
    "dies-of-undefined": Fault(
        "Crashes on an undefined size identifier.", instead("undecodable", die)
    ),
    "dies-of-last-undefined": Subtle(
        "Crashes on the size identifier 0xE.",
        before("undecodable", die, lambda _, frame: "0xe006" in (frame.error or "")),
    ),
}


@fault("ignores-ends", violates="end.received")
class IgnoresEnds(Session):
    """Stays connected after the peer's end of transmission and disconnect."""

    async def run(self, stream: Stream) -> None:
        self.stream = stream
        self.opened()
        while data := await stream.read():
            self.receive(data)
        if not self.ended:
            await asyncio.Event().wait()

    def peer_ends(self, value: Any) -> None:
        pass
