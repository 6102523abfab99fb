"""Faults of the log publisher about the form, the number and the order of messages."""

import asyncio
import re
from typing import Any

from conformance.runtime.codec import encode
from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


@fault("lines", violates="encoding.messagepack")
class Lines(Publisher):
    """Writes the byte c1 after each message to mark its end."""

    def write(self, data: bytes) -> None:
        super().write(data + b"\xc1")


@fault("critical-twice", violates="log.each-once", subtle=True)
class CriticalTwice(Publisher):
    """Publishes critical messages twice."""

    def publish(self, message: dict[str, Any]) -> None:
        super().publish(message)
        if message["level"] == "critical":
            super().publish(message)


@fault("long-messages-cut", violates="encoding.messagepack", subtle=True)
class LongMessagesCut(Publisher):
    """Truncates messages to 2000 bytes."""

    def write(self, data: bytes) -> None:
        super().write(data if len(data) <= 2000 else data[:2000] + b"\xc1")


@fault("forgets-what-does-not-fit", violates="log.form", subtle=True)
class ForgetsWhatDoesNotFit(Publisher):
    """Drops parts of a message that its connection cannot send immediately."""

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 4096):
            if not self.stream.is_behind:
                super().write(data[at : at + 4096])


@fault("lengths-of-8-bits", violates="log.form", subtle=True)
class LengthsOf8Bits(Publisher):
    """Writes the length of a long text in 8 bits."""

    def write(self, data: bytes) -> None:
        super().write(re.sub(rb"\xda.(.)", lambda long: b"\xd9" + long[1], data, flags=re.DOTALL))


@fault("texts-as-bytes", violates="encoding.strings")
class TextsAsBytes(Publisher):
    """Writes the text as a bin."""

    def event(self, event: str) -> Any:
        return {"$bin": event.encode().hex()}


@fault("latin-1", violates="encoding.strings", subtle=True)
class Latin1(Publisher):
    """Writes text with characters beyond ASCII in Latin-1."""

    def event(self, event: str) -> Any:
        data = event.encode("latin-1", "replace")
        return event if event.isascii() else {"$raw": (data + b"\xff").hex()}


@fault("wrapped", violates="log.form")
class Wrapped(Publisher):
    """Wraps a message in an RPC notification."""

    def publish(self, message: dict[str, Any]) -> None:
        self.write(encode([2, message["level"], [message]]))


@fault("no-logger-with-context", violates="log.form", subtle=True)
class NoLoggerWithContext(Publisher):
    """Omits the logger if there is context."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        return {name: whole[name] for name in whole if name != "logger" or not whole["extra"]}


@fault("no-empty-extra", violates="log.extra-present", subtle=True)
class NoEmptyExtra(Publisher):
    """Omits an empty extra."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        return {name: whole[name] for name in whole if whole[name] != {}}


@fault("warnings-only-once", violates="log.each-once", subtle=True)
class WarningsOnlyOnce(Publisher):
    """Omits repeated messages."""

    latest: Any = None

    def log(self, *args: Any) -> None:
        if args != self.latest:
            super().log(*args)
        self.latest = args


@fault("one-at-a-time", violates="log.each-once", subtle=True)
class OneAtATime(Publisher):
    """Publishes only the last of several simultaneous messages."""

    due: asyncio.Handle | None = None

    def log(self, *args: Any) -> None:
        if self.due:
            self.due.cancel()
        self.due = asyncio.get_running_loop().call_soon(super().log, *args)


@fault("everything-twice", violates="log.each-once")
class EverythingTwice(Publisher):
    """Publishes each message twice."""

    def publish(self, message: dict[str, Any]) -> None:
        super().publish(message)
        super().publish(message)


@fault("no-warnings", violates="log.each-once", subtle=True)
class NoWarnings(Publisher):
    """Omits only messages at level warning."""

    def publish(self, message: dict[str, Any]) -> None:
        if message["level"] != "warning":
            super().publish(message)


@fault("errors-first", violates="log.order", subtle=True)
class ErrorsFirst(Publisher):
    """Delays a warning until the next message is published."""

    kept: Any = None

    def publish(self, message: dict[str, Any]) -> None:
        if self.kept is None and str(message["level"]).startswith("warn"):
            self.kept = message
            return
        super().publish(message)
        if self.kept is not None:
            super().publish(self.kept)
            self.kept = None


@fault("two-hundred-messages", violates="log.each-once", subtle=True)
class TwoHundredMessages(Publisher):
    """Publishes only the first two hundred messages."""

    published = 0

    def publish(self, message: dict[str, Any]) -> None:
        self.published += 1
        if self.published <= 200:
            super().publish(message)


@fault("levels-of-a-full-table", violates="log.level", subtle=True)
class LevelsOfAFullTable(Publisher):
    """From the hundredth message, writes the level of the previous message."""

    published = 0
    kept = ""

    def publish(self, message: dict[str, Any]) -> None:
        self.published += 1
        own, before, self.kept = message["level"], self.kept, message["level"]
        super().publish({**message, "level": own if self.published < 100 else before})
