"""The faults of the log publisher."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from conformance.runtime.codec import encode
from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


@fault("lines", violates="encoding.messagepack")
class Lines(Publisher):
    """Puts the byte c1 behind each message, to mark its end."""

    def write(self, data: bytes) -> None:
        super().write(data + b"\xc1")


@fault("context-piles-up", violates="log.context", subtle=True)
class ContextPilesUp(Publisher):
    """Tells with each message what was known of all before it."""

    known: ClassVar[dict[str, Any]] = {}

    def context(self, extra: Mapping[str, Any]) -> Any:
        self.known.update(extra)
        return dict(self.known)


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


@fault("texts-in-capitals", violates="log.event")
class TextsInCapitals(Publisher):
    """Publishes a text with a capital at its beginning."""

    def event(self, event: str) -> Any:
        return event.capitalize()


@fault("texts-stripped", violates="log.event", subtle=True)
class TextsStripped(Publisher):
    """Takes blanks from the ends of a text."""

    def event(self, event: str) -> Any:
        return event.strip()


@fault("texts-as-formats", violates="log.event", subtle=True)
class TextsAsFormats(Publisher):
    """Takes a text for a format, and fills it in."""

    def event(self, event: str) -> Any:
        return event.replace("{}", "").replace("%s", "")


@fault("texts-of-64-kilobytes", violates="log.event", subtle=True)
class TextsOf64Kilobytes(Publisher):
    """Cuts texts behind 65535 bytes."""

    def event(self, event: str) -> Any:
        return event.encode()[:65535].decode(errors="ignore")


@fault("empty-texts-as-nil", violates="log.event", subtle=True)
class EmptyTextsAsNil(Publisher):
    """Publishes nil for an empty text."""

    def event(self, event: str) -> Any:
        return event or None


@fault("own-logger", violates="log.logger")
class OwnLogger(Publisher):
    """Names itself for the logger."""

    def message(self, *args: Any) -> dict[str, Any]:
        return {**super().message(*args), "logger": "runtime.publisher"}


@fault("three-parts-of-a-logger", violates="log.logger", subtle=True)
class ThreePartsOfALogger(Publisher):
    """Keeps three parts of a logger's name."""

    def message(self, level: str, event: str, logger: str, extra: Mapping[str, Any]) -> Any:
        return super().message(level, event, ".".join(logger.split(".")[:3]), extra)


@fault("warn", violates="log.level-words")
class Warn(Publisher):
    """Writes warn for warning."""

    def level(self, level: str) -> Any:
        return {"warning": "warn"}.get(level, level)


@fault("critical-in-capitals", violates="log.level-words", subtle=True)
class CriticalInCapitals(Publisher):
    """Writes critical in capitals."""

    def level(self, level: str) -> Any:
        return level.upper() if level == "critical" else level


@fault("all-is-info", violates="log.level")
class AllIsInfo(Publisher):
    """Publishes everything at info."""

    def level(self, level: str) -> Any:
        return "info"


@fault("critical-as-error", violates="log.level", subtle=True)
class CriticalAsError(Publisher):
    """Publishes at error what is critical."""

    def level(self, level: str) -> Any:
        return "error" if level == "critical" else level


@fault("seconds-since-1970", violates="log.timestamp-form")
class SecondsSince1970(Publisher):
    """Writes a timestamp as a number."""

    def timestamp(self, now: datetime) -> Any:
        return now.timestamp()


@fault("blank-in-timestamps", violates="log.timestamp-form", subtle=True)
class BlankInTimestamps(Publisher):
    """Puts a blank between date and time."""

    def timestamp(self, now: datetime) -> Any:
        return str(now)


@fault("time-stands-still", violates="log.timestamp", subtle=True)
class TimeStandsStill(Publisher):
    """Has a clock that was a minute slow at its first message, and stands still since then."""

    began: datetime | None = None

    def timestamp(self, now: datetime) -> Any:
        self.began = self.began or now - timedelta(minutes=1)
        return self.began.isoformat()


@fault("time-of-the-first", violates="log.timestamp", subtle=True)
class TimeOfTheFirst(Publisher):
    """Gives each message the time of the first one."""

    began: datetime | None = None

    def timestamp(self, now: datetime) -> Any:
        self.began = self.began or now
        return self.began.isoformat()


@fault("local-time-as-utc", violates="log.timestamp", subtle=True)
class LocalTimeAsUtc(Publisher):
    """Calls the time of a zone east of here that of UTC."""

    def timestamp(self, now: datetime) -> Any:
        return (now + timedelta(hours=2)).isoformat()


@fault("ten-minutes-fast", violates="log.timestamp")
class TenMinutesFast(Publisher):
    """Has a clock that is ten minutes fast, and names no offset."""

    def timestamp(self, now: datetime) -> Any:
        return (now + timedelta(minutes=10)).replace(tzinfo=None).isoformat()


@fault("extra-as-text", violates="log.extra")
class ExtraAsText(Publisher):
    """Writes extra as text."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return str(extra)


@fault("empty-extra-as-array", violates="log.extra", subtle=True)
class EmptyExtraAsArray(Publisher):
    """Writes an empty array where there is no context, as PHP does."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return dict(extra) or []


@fault("flat-context", violates="log.context")
class FlatContext(Publisher):
    """Puts the context into the message itself."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        return {**whole["extra"], **whole, "extra": {}}


@fault("context-of-own-names", violates="log.context", subtle=True)
class ContextOfOwnNames(Publisher):
    """Lets context of the name level or event take the place of the message's."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        mine = {name: value for name, value in whole["extra"].items() if name == "level"}
        return {**whole, **mine}


@fault("context-as-text", violates="log.context", subtle=True)
class ContextAsText(Publisher):
    """Writes what is nested in the context as text."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return {
            name: str(value) if isinstance(value, dict | list) else value
            for name, value in extra.items()
        }


@fault("errors-first", violates="log.order", subtle=True)
class ErrorsFirst(Publisher):
    """Keeps a warning back until the next message, and publishes that first."""

    kept: Any = None

    def publish(self, message: dict[str, Any]) -> None:
        if self.kept is None and message["level"] == "warning":
            self.kept = message
            return
        super().publish(message)
        if self.kept is not None:
            super().publish(self.kept)
            self.kept = None
