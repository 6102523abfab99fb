"""Faults of the log publisher about event, logger, level and timestamp."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


@fault("texts-in-capitals", violates="log.event")
class TextsInCapitals(Publisher):
    """Capitalises the first letter of a text."""

    def event(self, event: str) -> Any:
        return event.capitalize()


@fault("texts-stripped", violates="log.event", subtle=True)
class TextsStripped(Publisher):
    """Removes blanks at the beginning and end of a text."""

    def event(self, event: str) -> Any:
        return event.strip()


@fault("texts-as-formats", violates="log.event", subtle=True)
class TextsAsFormats(Publisher):
    """Treats a text as a format string, and removes its placeholders."""

    def event(self, event: str) -> Any:
        return event.replace("{}", "").replace("%s", "")


@fault("texts-of-1024-bytes-cut", violates="log.event", subtle=True)
class TextsOf1024BytesCut(Publisher):
    """Loses the last character of a text of exactly 1024 bytes."""

    def event(self, event: str) -> Any:
        return event[:-1] if len(event.encode()) == 1024 else event


@fault("texts-of-64-kilobytes", violates="log.event", subtle=True)
class TextsOf64Kilobytes(Publisher):
    """Truncates texts to 65535 bytes."""

    def event(self, event: str) -> Any:
        return event.encode()[:65535].decode(errors="ignore")


@fault("empty-texts-as-nil", violates="log.event", subtle=True)
class EmptyTextsAsNil(Publisher):
    """Publishes nil for an empty text."""

    def event(self, event: str) -> Any:
        return event or None


@fault("own-logger", violates="log.logger")
class OwnLogger(Publisher):
    """Writes its own name as the logger."""

    def message(self, *args: Any) -> dict[str, Any]:
        return {**super().message(*args), "logger": "runtime.publisher"}


@fault("three-parts-of-a-logger", violates="log.logger", subtle=True)
class ThreePartsOfALogger(Publisher):
    """Truncates the name of a logger to three parts."""

    def message(self, level: str, event: str, logger: str, extra: Mapping[str, Any]) -> Any:
        return super().message(level, event, ".".join(logger.split(".")[:3]), extra)


@fault("warn", violates="log.level-words")
class Warn(Publisher):
    """Writes warn instead of warning."""

    def level(self, level: str) -> Any:
        return {"warning": "warn"}.get(level, level)


@fault("critical-in-capitals", violates="log.level-words", subtle=True)
class CriticalInCapitals(Publisher):
    """Writes critical in upper case."""

    def level(self, level: str) -> Any:
        return level.upper() if level == "critical" else level


@fault("all-is-info", violates="log.level")
class AllIsInfo(Publisher):
    """Publishes every message at level info."""

    def level(self, level: str) -> Any:
        return "info"


@fault("critical-as-error", violates="log.level", subtle=True)
class CriticalAsError(Publisher):
    """Publishes critical messages at level error."""

    def level(self, level: str) -> Any:
        return "error" if level == "critical" else level


@fault("seconds-since-1970", violates="log.timestamp-form")
class SecondsSince1970(Publisher):
    """Writes a timestamp as a number."""

    def timestamp(self, now: datetime) -> Any:
        return now.timestamp()


@fault("blank-in-timestamps", violates="log.timestamp-separator")
class BlankInTimestamps(Publisher):
    """Writes a blank between date and time."""

    def timestamp(self, now: datetime) -> Any:
        return str(now)


@fault("time-stands-still", violates="log.timestamp", subtle=True)
class TimeStandsStill(Publisher):
    """Uses a clock that stopped one minute before its first message."""

    began: datetime | None = None

    def timestamp(self, now: datetime) -> Any:
        self.began = self.began or now - timedelta(minutes=1)
        return self.began.isoformat()


@fault("time-of-the-first", violates="log.timestamp", subtle=True)
class TimeOfTheFirst(Publisher):
    """Writes the time of the first message in all messages."""

    began: datetime | None = None

    def timestamp(self, now: datetime) -> Any:
        self.began = self.began or now
        return self.began.isoformat()


@fault("local-time-as-utc", violates="log.timestamp", subtle=True)
class LocalTimeAsUtc(Publisher):
    """Adds two hours to the time, but declares it as UTC."""

    def timestamp(self, now: datetime) -> Any:
        return (now + timedelta(hours=2)).isoformat()


@fault("ten-minutes-fast", violates="log.timestamp")
class TenMinutesFast(Publisher):
    """Uses a clock that is ten minutes fast, without an offset."""

    def timestamp(self, now: datetime) -> Any:
        return (now + timedelta(minutes=10)).replace(tzinfo=None).isoformat()


@fault("dashes-in-times", violates="log.timestamp-form", subtle=True)
class DashesInTimes(Publisher):
    """Writes dashes between hours, minutes and seconds, as in file names."""

    def timestamp(self, now: datetime) -> Any:
        return now.strftime("%Y-%m-%dT%H-%M-%SZ")


@fault("critical-for-good", violates="log.level", subtle=True)
class CriticalForGood(Publisher):
    """Keeps the level critical for all later messages except debug."""

    was = False

    def level(self, level: str) -> Any:
        self.was = self.was or level == "critical"
        return "critical" if self.was and level != "debug" else level


@fault("debug-three-times", violates="log.each-once", subtle=True)
class DebugThreeTimes(Publisher):
    """Publishes debug messages only among its first three messages."""

    seen = 0

    def log(self, level: str, *more: Any) -> None:
        self.seen += 1
        if level != "debug" or self.seen < 4:
            super().log(level, *more)


@fault("unpadded-fraction", violates="log.timestamp", subtle=True)
class UnpaddedFraction(Publisher):
    """Writes milliseconds without leading zeros, so that 5 ms become half a second."""

    def timestamp(self, now: datetime) -> Any:
        return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000}+00:00"
