"""Faults of the log publisher in how messages are formed, and which come when."""

import asyncio
import re
from typing import Any

from conformance.runtime.codec import encode
from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


@fault("lines", violates="encoding.messagepack")
class Lines(Publisher):
    """Puts the byte c1 behind each message, to mark its end."""

    def write(self, data: bytes) -> None:
        super().write(data + b"\xc1")


@fault("critical-twice", violates="log.each-once", subtle=True)
class CriticalTwice(Publisher):
    """Publishes what is critical twice, to be sure."""

    def publish(self, message: dict[str, Any]) -> None:
        super().publish(message)
        if message["level"] == "critical":
            super().publish(message)


@fault("long-messages-cut", violates="encoding.messagepack", subtle=True)
class LongMessagesCut(Publisher):
    """Cuts messages of more than 2000 bytes there."""

    def write(self, data: bytes) -> None:
        super().write(data if len(data) <= 2000 else data[:2000] + b"\xc1")


@fault("forgets-what-does-not-fit", violates="log.form", subtle=True)
class ForgetsWhatDoesNotFit(Publisher):
    """Sends as much of a message as its connection takes at once: others begin inside of it."""

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 4096):
            if not self.stream.behind:
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
    """Writes text in Latin-1, as far as it has the characters."""

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
    """Leaves the logger out where there is context."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        return {name: whole[name] for name in whole if name != "logger" or not whole["extra"]}


@fault("no-empty-extra", violates="log.extra-present", subtle=True)
class NoEmptyExtra(Publisher):
    """Leaves extra out where it is empty."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        return {name: whole[name] for name in whole if whole[name] != {}}


@fault("warnings-only-once", violates="log.each-once", subtle=True)
class WarningsOnlyOnce(Publisher):
    """Leaves out what is logged again and again."""

    latest: Any = None

    def log(self, *args: Any) -> None:
        if args != self.latest:
            super().log(*args)
        self.latest = args


@fault("one-at-a-time", violates="log.each-once", subtle=True)
class OneAtATime(Publisher):
    """Publishes the last of what is logged at the same time."""

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
    """Leaves out what is logged at warning, and nothing else."""

    def publish(self, message: dict[str, Any]) -> None:
        if message["level"] != "warning":
            super().publish(message)


@fault("errors-first", violates="log.order", subtle=True)
class ErrorsFirst(Publisher):
    """Keeps a warning back until the next message, and publishes that first."""

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
    """Publishes no more than that."""

    published = 0

    def publish(self, message: dict[str, Any]) -> None:
        self.published += 1
        if self.published <= 200:
            super().publish(message)


@fault("levels-of-a-full-table", violates="log.level", subtle=True)
class LevelsOfAFullTable(Publisher):
    """From its hundredth message on, gives each the level of the one before."""

    published = 0
    kept = ""

    def publish(self, message: dict[str, Any]) -> None:
        self.published += 1
        own, before, self.kept = message["level"], self.kept, message["level"]
        super().publish({**message, "level": own if self.published < 100 else before})
