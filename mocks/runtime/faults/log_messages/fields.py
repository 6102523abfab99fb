"""Faults of the log publisher about event, logger, level and timestamp."""

import html
from datetime import UTC, datetime, timedelta
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.log_publisher import Publisher
from mocks.runtime.values import cut_last_at, cut_text
from mocks.steps import When, after, alter, instead, returning, since, skip

IS_CRITICAL = When(lambda _, level: level == "critical")
"""If the step is about the level critical."""


def _keep_time(earlier: timedelta) -> Any:
    """Write the time of the first message, or an earlier time, in all messages."""

    def began(publisher: Publisher, now: datetime) -> Any:
        return vars(publisher).setdefault("began", now - earlier)

    return alter("timestamp", began)


def _replace_placeholders(message: dict[str, Any]) -> dict[str, Any]:
    """Replace each {} in a text by the next value of the context."""
    text = message["event"]
    for value in message["extra"].values():
        text = text.replace("{}", str(value), 1)
    return {**message, "event": text}


def _in_twelve_hours(_: Publisher, now: datetime) -> datetime:
    local = now.astimezone()
    return local.replace(hour=(local.hour - 1) % 12 + 1)


FAULTS = Table(Publisher)

FAULTS["log.event"] = {
    "texts-in-capitals": Fault(
        "Capitalises the first letter of a text.", returning("event", str.capitalize)
    ),
    "texts-stripped": Subtle(
        "Removes blanks at the beginning and end of a text.", returning("event", str.strip)
    ),
    "texts-as-formats": Subtle(
        "Treats a text as a format string, and removes its placeholders.",
        returning("event", lambda text: text.replace("{}", "").replace("%s", "")),
    ),
    "placeholders-replaced": Subtle(
        "Replaces {} in a text by the context, as logging libraries do with arguments.",
        returning("message", _replace_placeholders),
    ),
    "line-feeds-alone": Subtle(
        "Writes line feeds without carriage returns.",
        returning("event", lambda text: text.replace("\r\n", "\n")),
    ),
    "texts-for-a-page": Subtle(
        "Replaces the characters of a text that have a meaning in HTML.",
        returning("event", lambda text: html.escape(text, quote=False)),
    ),
    "texts-of-1024-bytes-cut": Subtle(
        "Loses the last character of a text of exactly 1024 bytes.",
        returning("event", cut_last_at(1024)),
    ),
    "texts-of-64-kilobytes": Subtle(
        "Truncates texts to 65535 bytes.", returning("event", cut_text(65535))
    ),
    "empty-texts-as-nil": Subtle(
        "Publishes nil for an empty text.", returning("event", lambda text: text or None)
    ),
}

FAULTS["log.logger"] = {
    "own-logger": Fault(
        "Writes its own name as the logger.",
        returning("message", lambda message: {**message, "logger": "runtime.publisher"}),
    ),
    "three-parts-of-a-logger": Subtle(
        "Truncates the name of a logger to three parts.",
        returning(
            "message", lambda told: {**told, "logger": ".".join(told["logger"].split(".")[:3])}
        ),
    ),
}

FAULTS["log.level-words"] = {
    "warn": Fault(
        "Writes warn instead of warning.",
        returning("level", lambda level: "warn" if level == "warning" else level),
    ),
    "critical-in-capitals": Subtle(
        "Writes critical in upper case.", returning("level", str.upper, IS_CRITICAL)
    ),
}

FAULTS["log.level"] = {
    "all-is-info": Fault(
        "Publishes every message at level info.", instead("level", lambda *_: "info")
    ),
    "critical-as-error": Subtle(
        "Publishes critical messages at level error.",
        instead("level", lambda *_: "error", IS_CRITICAL),
    ),
    "critical-for-good": Subtle(
        "Keeps the level critical for all later messages except debug.",
        instead(
            "level", lambda *_: "critical", since(IS_CRITICAL) & (lambda _, level: level != "debug")
        ),
    ),
}

FAULTS["log.timestamp-form"] = {
    "seconds-since-1970": Fault(
        "Writes a timestamp as a number.", instead("timestamp", lambda _, now: now.timestamp())
    ),
    "dashes-in-times": Subtle(
        "Writes dashes between hours, minutes and seconds, as in file names.",
        instead("timestamp", lambda _, now: now.strftime("%Y-%m-%dT%H-%M-%SZ")),
    ),
}

FAULTS["log.timestamp-separator"] = {
    "blank-in-timestamps": Fault(
        "Writes a blank between date and time.", instead("timestamp", lambda _, now: str(now))
    ),
}

FAULTS["log.timestamp"] = {
    "time-stands-still": Subtle(
        "Uses a clock that stopped one minute before its first message.",
        _keep_time(timedelta(minutes=1)),
    ),
    "time-of-the-first": Subtle(
        "Writes the time of the first message in all messages.", _keep_time(timedelta())
    ),
    "local-time-as-utc": Subtle(
        "Writes the local time, but declares it as UTC.",
        alter("timestamp", lambda _, now: now.astimezone().replace(tzinfo=UTC)),
    ),
    "twelve-hours": Subtle(
        "Writes the hours of a 12-hour clock without AM or PM.",
        alter("timestamp", _in_twelve_hours),
    ),
    "ten-minutes-fast": Fault(
        "Uses a clock that is ten minutes fast, without an offset.",
        alter("timestamp", lambda _, now: (now + timedelta(minutes=10)).replace(tzinfo=None)),
    ),
    "unpadded-fraction": Subtle(
        "Writes milliseconds without leading zeros, so that 5 ms become half a second.",
        instead(
            "timestamp", lambda _, now: f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000}+00:00"
        ),
    ),
}

FAULTS["log.each-once"] = {
    "debug-three-times": Subtle(
        "Publishes debug messages only among its first three messages.",
        skip("log", after(3) & (lambda _, level, *rest: level == "debug")),
    ),
}
