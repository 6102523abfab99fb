"""Faults of the log publisher about the form, the number and the order of messages."""

import asyncio
import re
from typing import Any

from conformance.runtime.codec import encode
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.log_publisher import Publisher
from mocks.runtime.messages import DROP_WHILE_BEHIND
from mocks.runtime.values import to_bin
from mocks.steps import (
    Change,
    Function,
    When,
    alter,
    differing,
    every,
    first,
    instead,
    only,
    repeat,
    returning,
    skip,
)
from mocks.streams import Stream

Message = dict[str, Any]


def at(level: str) -> When:
    """If the step is about a message at this level."""
    return When(lambda _, message: message["level"] == level)


def _shorten_lengths(_: Publisher, data: bytes) -> bytes:
    # The same first byte within a number is no length: a long text must follow.
    header = rb"\xda.(.)(?=[ -~]{256})"
    return re.sub(header, lambda long: b"\xd9" + long[1], data, flags=re.DOTALL)


def _to_latin_1(event: str) -> Any:
    data = event.encode("latin-1", "replace")
    return event if event.isascii() else {"$raw": (data + b"\xff").hex()}


def _publish_with_level(publisher: Publisher, message: Message) -> None:
    publisher.write(encode([2, message["level"], [message]]))


def _keep_warning(usual: Function, publisher: Any, message: Message) -> None:
    kept = vars(publisher).pop("kept", None)
    if kept is None and str(message["level"]).startswith("warn"):
        publisher.kept = message
        return
    usual(publisher, message)
    if kept is not None:
        usual(publisher, kept)


def _publish_later(usual: Function, publisher: Publisher, message: Message) -> None:
    asyncio.get_running_loop().call_later(0.03, usual, publisher, message)


FAULTS = Table(Publisher)

FAULTS["encoding.messagepack"] = {
    "lines": Fault(
        "Writes the byte c1 after each message to mark its end.",
        alter("write", lambda _, data: data + b"\xc1"),
    ),
    "long-messages-cut": Subtle(
        "Truncates messages to 2000 bytes.",
        alter("write", lambda _, data: data[:2000] + b"\xc1", lambda _, data: len(data) > 2000),
    ),
    "lengths-of-8-bits": Subtle(
        "Writes the length of a long text in 8 bits.", alter("write", _shorten_lengths)
    ),
    "forgets-what-does-not-fit": Subtle(
        "Drops parts of a message that its connection cannot send immediately.", DROP_WHILE_BEHIND
    ),
    "counts-of-four-bits": Subtle(
        "Writes the count of a map of 16 as four bits, which is 0.",
        alter("write", lambda _, data: data.replace(b"\xde\x00\x10", b"\x80")),
    ),
}

FAULTS["encoding.strings"] = {
    "texts-as-bytes": Fault("Writes the text as a bin.", returning("event", to_bin)),
    "latin-1": Subtle(
        "Writes text with characters beyond ASCII in Latin-1.", returning("event", _to_latin_1)
    ),
}

FAULTS["log.form"] = {
    "wrapped": Fault(
        "Wraps a message in an RPC notification.", instead("publish", _publish_with_level)
    ),
    "no-logger-with-context": Subtle(
        "Omits the logger if there is context.",
        returning(
            "message", lambda told: {n: told[n] for n in told if n != "logger" or not told["extra"]}
        ),
    ),
}

FAULTS["log.extra-present"] = {
    "no-empty-extra": Subtle(
        "Omits an empty extra.",
        returning("message", lambda told: {name: told[name] for name in told if told[name] != {}}),
    ),
}

FAULTS["log.each-once"] = {
    "critical-twice": Subtle(
        "Publishes critical messages twice.", repeat("publish", at("critical"))
    ),
    "warnings-only-once": Subtle(
        "Omits repeated messages.", only("log", differing(lambda _, *message: message))
    ),
    "everything-twice": Fault("Publishes each message twice.", repeat("publish")),
    "no-warnings": Subtle("Omits only messages at level warning.", skip("publish", at("warning"))),
    "last-words-lost": Subtle(
        "Publishes messages 30 ms later, and exits without the latest ones.",
        Change("publish", _publish_later),
    ),
    "each-64th-omitted": Subtle("Omits every 64th message.", skip("publish", every(64))),
    "two-hundred-messages": Subtle(
        "Publishes only the first two hundred messages.", only("publish", first(200))
    ),
}

FAULTS["log.order"] = {
    "errors-first": Subtle(
        "Delays a warning until the next message is published.", Change("publish", _keep_warning)
    ),
}


@fault("one-at-a-time", violates="log.each-once", subtle=True)
class OneAtATime(Publisher):
    """Publishes only the last of several simultaneous messages."""

    due: asyncio.Handle | None = None

    def log(self, *args: Any) -> None:
        if self.due:
            self.due.cancel()
        self.due = asyncio.get_running_loop().call_soon(super().log, *args)


@fault("ten-at-a-time", violates="log.at-once")
class TenAtATime(Publisher):
    """Collects ten messages before it sends them, and sends the rest at its exit."""

    collected = b""
    messages = 0

    async def run(self, stream: Stream) -> None:
        close = stream.closed

        async def send_and_close() -> None:
            super(TenAtATime, self).write(self.collected)
            await close()

        stream.closed = send_and_close  # type: ignore[method-assign]
        await super().run(stream)

    def write(self, data: bytes) -> None:
        self.collected += data
        self.messages += 1
        if self.messages % 10 == 0:
            super().write(self.collected)
            self.collected = b""


@fault("levels-of-a-full-table", violates="log.level", subtle=True)
class LevelsOfAFullTable(Publisher):
    """From the hundredth message, writes the level of the previous message."""

    published = 0
    kept = ""

    def publish(self, message: dict[str, Any]) -> None:
        self.published += 1
        own, before, self.kept = message["level"], self.kept, message["level"]
        super().publish({**message, "level": own if self.published < 100 else before})
