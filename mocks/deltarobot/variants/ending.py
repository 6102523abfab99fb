"""Variants of the end of a session."""

from typing import Any

from conformance.deltarobot.codec import encode, message
from mocks.deltarobot.client import Client
from mocks.deltarobot.faults.building import SHAKEN
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import END, Session
from mocks.deviations import Table, Variant
from mocks.steps import alter, before, call, having, instead, note, noted, nth, send, skip, then


def _cut_end(session: Session, reason: str) -> None:
    session.write(encode(message(END, reason=reason))[:-1])


def _reset(session: Session, why: str = "") -> None:
    session.stream.reset()


def _send_back(session: Session, value: Any) -> None:
    session.send(value)


def _end_soon(server: Server) -> None:
    server.call_later(0.7, lambda: server.end("the exercise is over"))


ENDED, QUIET = having("ended"), noted("quiet")

EITHER = Table(Session)

EITHER["end.announced"] = {
    "leaves-without-a-word": Variant(
        "Closes the connection without an end of transmission.", skip("announce_end")
    ),
    "end-cut-by-a-reset": Variant(
        "Resets the connection at its end, which cuts its last message.",
        instead("announce_end", _cut_end),
        before("close", _reset, ~ENDED),
    ),
}

EITHER["end.reason-optional"] = {
    "no-reason": Variant(
        "Gives no reason in its end of transmission.", alter("announce_end", lambda *_: "")
    ),
}

EITHER["end.reason-ascii"] = {
    "reason-of-c": Variant(
        "Includes the terminating NUL of a C string in its reason.",
        alter("announce_end", lambda _, reason: f"{reason}\0"),
    ),
    "reasons-sent-back": Variant(
        "Answers the peer's end of transmission with the same reason.",
        before("peer_ends", _send_back, ~ENDED),
    ),
}

EITHER["end.closes"] = {
    "leaves-the-close-to-the-peer": Variant(
        "Leaves the connection open after its end of transmission, until the peer closes it.",
        skip("write", QUIET),
        instead("end", lambda session, reason: session.announce_end(reason), SHAKEN),
        then("end", note("quiet"), SHAKEN),
        skip("end", QUIET),
    ),
}

EITHER["end.nothing-after"] = {
    "says-more-after-the-end": Variant(
        "Sends a second end of transmission with a further reason.",
        then("announce_end", send(message(END, reason="that is all"))),
    ),
}

EITHER["end.received"] = {
    "waits-for-the-close": Variant(
        "Waits for the peer's close after the peer's end of transmission, and sends nothing more.",
        skip("write", QUIET),
        instead("peer_ends", note("quiet")),
    ),
}

EITHER["end.heeded"] = {
    "serves-until-the-close": Variant(
        "Goes on as before after the peer's end of transmission, until the peer closes.",
        skip("peer_ends"),
    ),
}

OF_CLIENT = Table(Client)

OF_CLIENT["end.announced"] = {
    "ends-after-three-pings": Variant(
        "Ends each session in an orderly way after it has answered three pings.",
        then("send_pong", call("end", "the patient has seen enough"), nth(3)),
    ),
}

OF_SERVER = Table(Server)

OF_SERVER["end.announced"] = {
    "ends-after-a-while": Variant(
        "Ends each session in an orderly way soon after its beginning.",
        then("welcome", _end_soon),
    ),
}

OF_SERVER["end.received"] = {
    "waits-for-the-close-in-an-exercise": Variant(
        "Waits for the peer's close after the peer's end of transmission during an exercise.",
        skip("write", QUIET),
        instead("peer_ends", note("quiet"), having("machine.is_running")),
    ),
}
