"""Faults of the log publisher about extra."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


@fault("context-piles-up", violates="log.context", subtle=True)
class ContextPilesUp(Publisher):
    """Adds the context of all earlier messages to each message."""

    known: ClassVar[dict[str, Any]] = {}

    def context(self, extra: Mapping[str, Any]) -> Any:
        self.known.update(extra)
        return dict(self.known)


@fault("context-kept", violates="log.context", subtle=True)
class ContextKept(Publisher):
    """Repeats the context of the last message if a message has none."""

    last: ClassVar[Mapping[str, Any]] = {}

    def context(self, extra: Mapping[str, Any]) -> Any:
        type(self).last = extra or self.last
        return dict(self.last)


@fault("extra-as-text", violates="log.extra")
class ExtraAsText(Publisher):
    """Writes extra as text."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return str(extra)


@fault("empty-extra-as-array", violates="log.extra", subtle=True)
class EmptyExtraAsArray(Publisher):
    """Writes an empty array as extra if there is no context, as PHP does."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return dict(extra) or []


@fault("flat-context", violates="log.context")
class FlatContext(Publisher):
    """Writes the context directly into the message instead of extra."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        return {**whole["extra"], **whole, "extra": {}}


@fault("context-of-own-names", violates="log.context", subtle=True)
class ContextOfOwnNames(Publisher):
    """Replaces the level of the message by a context value named level."""

    def message(self, *args: Any) -> dict[str, Any]:
        whole = super().message(*args)
        mine = {name: value for name, value in whole["extra"].items() if name == "level"}
        return {**whole, **mine}


@fault("context-as-text", violates="log.context", subtle=True)
class ContextAsText(Publisher):
    """Writes nested values in the context as text."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return {
            name: str(value) if isinstance(value, dict | list) else value
            for name, value in extra.items()
        }


@fault("keys-in-small-letters", violates="log.context", subtle=True)
class KeysInSmallLetters(Publisher):
    """Writes the names in the context in lower case."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return {name.lower(): value for name, value in extra.items()}
