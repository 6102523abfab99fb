"""Faults in the handshake, as sent and as accepted."""

from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN, Decoder, frame, message
from mocks.deltarobot.faults.building import SHAKEN, named
from mocks.deltarobot.session import MAGIC, VERSION, Session
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Change,
    When,
    before,
    instead,
    note,
    noted,
    nth,
    only,
    send,
    skip,
    then,
    write,
)

NOTHING = When(lambda peer, *_: len(peer.missing) == 2)
"""Before any message of the peer's handshake."""


def accept(name: str, holds: Callable[[Any], bool]) -> Change:
    """Accept a magic or a version if its content has a property."""
    return instead(
        "acceptable", lambda _, came, value: holds(value), lambda _, came, value: came == name
    )


def _greet(peer: Session, *_: Any) -> None:
    Session.greet(peer)


def _lose_patience_early(peer: Session, *_: Any) -> None:
    peer.call_later(peer.patience / 4, peer.out_of_patience)


def _is_seven_bits(character: str, wanted: str) -> bool:
    return ord(character) % 128 == ord(wanted)


FAULTS = Table(Session)

FAULTS["handshake.magic-sent"] = {"no-magic": Fault("Sends no magic.", skip("send_magic"))}

FAULTS["handshake.version-sent"] = {"no-version": Fault("Sends no version.", skip("send_version"))}

FAULTS["handshake.first"] = {
    "end-first": Fault(
        "Sends an end of transmission before its handshake.",
        before("greet", write(frame(0xF006, b""))),
    ),
    "unknown-between": Subtle(
        "Sends an unknown message between magic and version.",
        before("send_version", write(frame(0x1FFF, b"\0\0"))),
    ),
}

FAULTS["handshake.magic-value"] = {
    "reversed-magic": Fault(
        "Sends the magic as a little-endian number, which reverses its characters.",
        instead("send_magic", send(message(MAGIC, magic="rVRatleD"))),
    ),
    "magic-in-other-case": Subtle(
        "Writes the last letter of the magic in upper case.",
        instead("send_magic", send(message(MAGIC, magic="DeltaRVR"))),
    ),
}

FAULTS["handshake.version-value"] = {
    "version-two": Fault(
        "Announces version 2.", instead("send_version", send(message(VERSION, version=2)))
    ),
    "version-as-text": Subtle(
        "Sends the version as the digit 1.",
        instead("send_version", write(frame(0x2002, b"1\0\0\0"))),
    ),
}

FAULTS["handshake.unasked"] = {
    "greets-later": Fault(
        "Waits for the peer's handshake before it sends its own.",
        skip("greet"),
        before("handshake", _greet, NOTHING),
    ),
    "version-after-the-peer": Subtle(
        "Sends its magic at once, but its version only after the peer's first message.",
        instead("greet", "send_magic"),
        before("handshake", "send_version", NOTHING),
    ),
}

FAULTS["handshake.either-order"] = {
    "magic-first-only": Fault(
        "Loses a version that comes before the magic, and waits for another one.",
        skip("handshake", named(VERSION) & (lambda peer, _: MAGIC in peer.missing)),
    ),
}

FAULTS["handshake.closes-different"] = {
    "skips-before-handshake": Fault("Skips all messages before the handshake.", skip("unexpected")),
    "skips-unknown-before-handshake": Subtle(
        "Skips unknown messages before the handshake.", skip("unexpected", named(UNKNOWN))
    ),
    "skips-between": Subtle(
        "Skips messages between magic and version.", only("unexpected", NOTHING)
    ),
}

FAULTS["handshake.closes-partial"] = {
    "any-two-will-do": Subtle(
        "Accepts any two messages of a handshake, for example two magics.",
        before(
            "handshake",
            lambda peer, frame: setattr(peer, "missing", {frame.name}),
            named(MAGIC, VERSION) & nth(2),
        ),
    ),
    "content-with-little": Fault(
        "Drops only a peer that sends nothing at all.",
        skip("out_of_patience", noted("heard")),
        before("receive", note("heard")),
    ),
    "content-with-magic": Subtle(
        "Drops no peer that has sent its magic.",
        only("out_of_patience", lambda peer: MAGIC in peer.missing),
    ),
}

FAULTS["handshake.closes-silent"] = {
    "endless-patience": Fault(
        "Never drops a peer because of a missing handshake.", skip("out_of_patience")
    ),
}

FAULTS["handshake.closes-wrong-magic"] = {
    "any-magic": Fault(
        "Checks only that the magic is readable text.",
        accept(MAGIC, lambda value: value["magic"].isprintable()),
    ),
    "magic-of-any-case": Subtle(
        "Accepts the magic in upper and lower case.",
        accept(MAGIC, lambda value: value["magic"].lower() == "deltarvr"),
    ),
    "magic-of-seven-bits": Subtle(
        "Decodes the magic as ASCII, which drops the highest bit of each byte.",
        accept(MAGIC, lambda value: all(map(_is_seven_bits, value["magic"], "DeltaRVr"))),
    ),
    "seven-of-the-magic": Subtle(
        "Ignores the last character of the magic.",
        accept(MAGIC, lambda value: value["magic"][:7] == "DeltaRV"),
    ),
}

FAULTS["handshake.closes-wrong-version"] = {
    "any-version": Fault(
        "Compares the version only with 2, the one version that it knows it does not support.",
        accept(VERSION, lambda value: value["version"] != 2),
    ),
    "newer-versions": Subtle(
        "Accepts any version from 1 on.", accept(VERSION, lambda value: value["version"] >= 1)
    ),
    "version-of-8-bits-read": Subtle(
        "Compares only the first byte of the version.",
        accept(VERSION, lambda value: value["version"] % 256 == 1),
    ),
    "version-of-either-order": Subtle(
        "Accepts a big-endian 1 as well.",
        accept(VERSION, lambda value: value["version"] in (1, 1 << 24)),
    ),
}

FAULTS["handshake.once"] = {
    "greets-again": Fault(
        "Sends its handshake again after the peer's handshake.",
        then("handshake", "greet", SHAKEN),
    ),
    "version-again": Subtle(
        "Sends its version again after its first other message.",
        then("send", "send_version", nth(3)),
    ),
}

FAULTS["handshake.patient"] = {
    "impatient": Fault(
        "Waits only a quarter of the declared time for the handshake.",
        before("opened", lambda peer: setattr(peer, "patience", peer.patience / 4)),
    ),
    "impatient-between": Subtle(
        "Waits only a quarter of the declared time between magic and version.",
        then("handshake", _lose_patience_early, ~SHAKEN),
    ),
    "time-goes-on": Subtle(
        "Ends each session when the time for the handshake is over, although it is complete.",
        instead(
            "out_of_patience", lambda peer: peer.refuse(f"no handshake within {peer.patience:g} s")
        ),
    ),
    "time-goes-on-in-silence": Subtle(
        "Closes each connection when the time for the handshake is over, and announces no end.",
        instead("out_of_patience", lambda peer: peer.close("the time for the handshake is over")),
    ),
}


@fault("opening-by-low-byte", violates="handshake.closes-different", subtle=True)
class OpeningByLowByte(Session):
    """Compares only the low byte of types before the handshake is complete."""

    def unexpected(self, frame: Frame) -> None:
        low = bytes([frame.raw[0], frame.raw[1] & 0xF0])
        [known] = Decoder().feed(low + frame.raw[2:])
        if frame.name == UNKNOWN and known.name in self.missing:
            self.handshake(known)
        else:
            super().unexpected(frame)
