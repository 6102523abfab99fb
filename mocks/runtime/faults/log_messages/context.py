"""Faults of the log publisher about extra."""

from collections.abc import Mapping
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.log_publisher import Publisher
from mocks.runtime.values import in_members
from mocks.steps import alter, returning

Context = Mapping[str, Any]


def _add_to_earlier(publisher: Any, extra: Context) -> Context:
    publisher.known = {**vars(publisher).get("known", {}), **extra}
    return dict(publisher.known)


def _or_last(publisher: Any, extra: Context) -> Context:
    publisher.last = extra or vars(publisher).get("last", {})
    return dict(publisher.last)


def _with_own_level(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "level": message["extra"].get("level", message["level"])}


FAULTS = Table(Publisher)

FAULTS["log.extra"] = {
    "extra-as-text": Fault("Writes extra as text.", returning("context", str)),
    "empty-extra-as-array": Subtle(
        "Writes an empty array as extra if there is no context, as PHP does.",
        returning("context", lambda context: context or []),
    ),
}

FAULTS["log.context"] = {
    "context-piles-up": Subtle(
        "Adds the context of all earlier messages to each message.",
        alter("context", _add_to_earlier),
    ),
    "context-kept": Subtle(
        "Repeats the context of the last message if a message has none.", alter("context", _or_last)
    ),
    "flat-context": Fault(
        "Writes the context directly into the message instead of extra.",
        returning("message", lambda message: {**message["extra"], **message, "extra": {}}),
    ),
    "context-of-own-names": Subtle(
        "Replaces the level of the message by a context value named level.",
        returning("message", _with_own_level),
    ),
    "keys-in-small-letters": Subtle(
        "Writes the names in the context in lower case.",
        returning("context", lambda context: {name.lower(): v for name, v in context.items()}),
    ),
}

FAULTS["log.context-values"] = {
    "context-as-text": Fault(
        "Writes nested values in the context as text.",
        returning("context", in_members(lambda v: str(v) if isinstance(v, dict | list) else v)),
    ),
}
