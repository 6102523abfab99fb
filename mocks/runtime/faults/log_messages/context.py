"""Faults of the log publisher in extra."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mocks.deviations import fault
from mocks.runtime.log_publisher import Publisher


@fault("context-piles-up", violates="log.context", subtle=True)
class ContextPilesUp(Publisher):
    """Tells with each message what was known of all before it."""

    known: ClassVar[dict[str, Any]] = {}

    def context(self, extra: Mapping[str, Any]) -> Any:
        self.known.update(extra)
        return dict(self.known)


@fault("context-kept", violates="log.context", subtle=True)
class ContextKept(Publisher):
    """Tells the context of the last message once more with one that has none."""

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


@fault("keys-in-small-letters", violates="log.context", subtle=True)
class KeysInSmallLetters(Publisher):
    """Writes the names of context in small letters."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return {name.lower(): value for name, value in extra.items()}
