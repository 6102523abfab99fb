"""Faults of the log publisher in event, logger, level and timestamp."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


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


@fault("blank-in-timestamps", violates="log.timestamp-separator")
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


@fault("dashes-in-times", violates="log.timestamp-form", subtle=True)
class DashesInTimes(Publisher):
    """Has dashes between hours, minutes and seconds, as file names do."""

    def timestamp(self, now: datetime) -> Any:
        return now.strftime("%Y-%m-%dT%H-%M-%SZ")


@fault("critical-for-good", violates="log.level", subtle=True)
class CriticalForGood(Publisher):
    """Keeps the level critical for what is logged after it."""

    was = False

    def level(self, level: str) -> Any:
        self.was = self.was or level == "critical"
        return "critical" if self.was and level != "debug" else level


@fault("debug-three-times", violates="log.each-once", subtle=True)
class DebugThreeTimes(Publisher):
    """Publishes what is logged at debug among its first messages only."""

    seen = 0

    def log(self, level: str, *more: Any) -> None:
        self.seen += 1
        if level != "debug" or self.seen < 4:
            super().log(level, *more)


@fault("unpadded-fraction", violates="log.timestamp", subtle=True)
class UnpaddedFraction(Publisher):
    """Writes 5 ms as half a second."""

    def timestamp(self, now: datetime) -> Any:
        return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000}+00:00"
