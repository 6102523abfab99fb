"""Faults of the monitor in reading the states."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import Scene, number
from conformance.simspark.view import View
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults import decoders
from mocks.simspark.monitor import Monitor
from mocks.steps import (
    Change,
    When,
    before,
    delay,
    die,
    every,
    fail,
    first,
    instead,
    only,
    skip,
    then,
)
from mocks.stream_readers import reads

PARTIAL = When(lambda _, frame: frame.name == "PartialState")


def _has_other_than_numbers(_: Monitor, frame: Frame) -> bool:
    values = (item[1] for item in frame.value[0] if len(item) > 1)
    return any(number(value) is None for value in values)


def _has_other_goals(_: Monitor, frame: Frame) -> bool:
    goals = [item[1] for item in frame.value[0] if item[:1] == ["score_left"] and len(item) > 1]
    return not all(str(text).isdecimal() for text in goals)


def _is_at_the_same_time(monitor: Monitor, frame: Frame) -> bool:
    times = [item[1] for item in frame.value[0] if item[:1] == ["time"] and len(item) > 1]
    return [monitor.view.state.get("time")] == times


def _has_environment_and_state(_: Monitor, frame: Frame) -> bool:
    return frame.name == "Environment" and any(i[:1] == ["time"] for i in frame.value[0])


def _shows_unknown_mode(monitor: Monitor, _: Frame) -> bool:
    modes = monitor.view.play_modes
    return (monitor.view.value("play_mode") or 0) >= len(modes) > 0


def _has_too_many_nodes(monitor: Monitor, frame: Frame) -> bool:
    if monitor.view.scene is None or len(frame.value) <= 2:
        return False
    return len(Scene(frame.value[2]).nodes) > len(monitor.view.scene.nodes)


def views(make: Callable[[], View]) -> Change:
    """Keep the knowledge of another view."""
    return instead("make_view", lambda _: make())


def rewrites(pattern: str) -> Change:
    """Read 0 instead of each atom that fully matches a pattern."""

    def rewrite(part: Any) -> Any:
        if isinstance(part, list):
            return [*map(rewrite, part)]
        return "0" if re.fullmatch(pattern, part) else part

    class Rewriting(View):
        def take(self, value: Any) -> None:
            super().take(rewrite(value))

    return views(Rewriting)


class _Forgetting(View):
    def take(self, value: Any) -> None:
        goals = self.state.pop("score_right", None)
        super().take(value)
        if len(value[0]) > 2:
            self.state.setdefault("score_right", goals or "0")


class _WholeSeconds(View):
    def take(self, value: Any) -> None:
        super().take(value)
        if "time" in self.state:
            self.state["time"] = str(int(float(self.state["time"])))


class _Forwards(View):
    def take(self, value: Any) -> None:
        before = self.value("time")
        super().take(value)
        if before is not None and (self.value("time") or 0.0) < before:
            self.state["time"] = str(before)


class _NeverZero(View):
    def take(self, value: Any) -> None:
        before = self.state.get("time")
        super().take(value)
        if before and not self.clock:
            self.state["time"] = before


class _InOrder(View):
    def take(self, value: Any) -> None:
        super().take(value)
        if self.fulls and value[1][:1] == ["RDS"] and len(value[0]) > 2:
            self.state["time"] = str(value[0][0][-1])


class _OwnModes(View):
    @property
    def play_mode(self) -> str | None:
        names = ("BeforeKickOff", "KickOff_Left", "KickOff_Right", "PlayOn", "KickIn_Left")
        index = self.value("play_mode")
        if index is None or index >= len(names) or not self.play_modes:
            return super().play_mode
        return names[int(index)]


class _SeventeenModes(View):
    def take(self, value: Any) -> None:
        super().take(value)
        del self.play_modes[17:]


class _SmallNumbers(View):
    def value(self, key: str) -> float | None:
        found = super().value(key)
        return found if found is None or key == "time" else (found + 128) % 256 - 128


class _FewGoals(View):
    def value(self, key: str) -> float | None:
        found = super().value(key)
        return min(found, 255.0) if found is not None and key.startswith("score") else found


class _AnewWithScenes(View):
    def take(self, value: Any) -> None:
        if value[1][:1] == ["RSG"]:
            self.state.clear()
        super().take(value)


FAULTS = Table(Monitor)

FAULTS["frame.segmentation"] = {
    "long-messages-overtaken": Subtle(
        "Takes messages of more than 2000 bytes 50 ms later, and the next messages before them.",
        delay("take_state", 0.05, lambda _, frame: len(frame.raw) > 2000),
    ),
}

FAULTS["monitors.understood"] = {
    "forgets": Fault(
        "Forgets the score of the right team when a short partial state leaves it out.",
        views(_Forgetting),
    ),
    "whole-seconds": Subtle("Cuts the time to whole seconds.", views(_WholeSeconds)),
    "still-time-skipped": Subtle(
        "Ignores a partial state of the same time as the latest state.",
        skip("take_state", PARTIAL & _is_at_the_same_time),
    ),
    "time-only-forwards": Subtle(
        "Ignores a time before the latest one, even if a trainer has set it.", views(_Forwards)
    ),
    "time-never-zero": Subtle("Ignores a time of 0.", views(_NeverZero)),
    "values-by-place": Subtle(
        "Takes the first value of a longer partial state for the time.", views(_InOrder)
    ),
    "goals-in-a-byte": Subtle("Keeps goals in a signed byte.", views(_SmallNumbers)),
    "at-most-255-goals": Subtle("Keeps goals in an unsigned byte, at most 255.", views(_FewGoals)),
    "state-of-the-scene-only": Subtle(
        "Forgets the game state when a full scene graph arrives.", views(_AnewWithScenes)
    ),
    "negative-fractions-as-zero": Subtle(
        "Takes every number between -1 and 0 for 0.", rewrites("-0?[.].*")
    ),
    "negative-numbers-as-zero": Subtle("Takes every negative number for 0.", rewrites("-[0-9.].*")),
    "one-state-behind": Subtle(
        "Reads a message only after the next one has arrived.", reads(decoders.OneBehind)
    ),
    "introduced-only": Fault(
        "Ignores all messages after the introduction, but still reads them.",
        skip("take_state", lambda monitor, _: monitor.view.fulls >= 2),
    ),
    "two-hundred-states": Subtle(
        "Ignores all states after the first two hundred.", only("take_state", first(200))
    ),
    "every-tenth-lost": Subtle("Drops every tenth message.", skip("take_state", every(10))),
    "dies-of-updates": Fault(
        "Dies of a partial state, because it expects a full one each time.",
        before("take_state", die, PARTIAL),
    ),
}

FAULTS["text.unknown-ignored"] = {
    "dies-of-long-words": Subtle("Dies of a word of 256 letters.", reads(decoders.LONG_WORDS_KILL)),
    "dies-of-unknown-values": Fault(
        "Dies of the unknown value foul in a game state.",
        before(
            "take_state", die, lambda _, frame: any(item[0] == "foul" for item in frame.value[0])
        ),
    ),
    "numbers-only": Subtle(
        "Ignores a partial state with a value that is not a number.",
        skip("take_state", PARTIAL & _has_other_than_numbers),
    ),
    "counts-known-values": Subtle(
        "Ignores a full graph with an unknown leaf.",
        skip("take_state", lambda _, frame: b"setFancy" in frame.raw),
    ),
}

FAULTS["monitors.published-forms"] = {
    "one-list-unread": Fault(
        "Ignores a state in the list of the environment.",
        skip("take_state", _has_environment_and_state),
    ),
}

FAULTS["state.play-mode-known"] = {
    "own-play-modes": Subtle(
        "Looks up an index in a list of its own if that is long enough.", views(_OwnModes)
    ),
    "seventeen-modes": Subtle(
        "Has room only for the 17 play modes of the specification's example.",
        views(_SeventeenModes),
    ),
}

FAULTS["text.numbers"] = {
    "small-exponents-as-zero": Subtle(
        "Takes every number with a negative exponent for 0.",
        rewrites("[-+.0-9]+[eE]-[0-9]+"),
    ),
    "goals-in-digits": Subtle(
        "Ignores a score that is not written in digits.", skip("take_state", _has_other_goals)
    ),
    "plus-signs-unread": Subtle("Takes a number with a plus sign for 0.", rewrites("[+][0-9.].*")),
    "exponents-unread": Subtle(
        "Ignores messages with a number that has an exponent.",
        skip("take_state", lambda _, frame: re.search(rb"\de[+-]?\d", frame.raw[4:])),
    ),
}

FAULTS["robustness.odd-scenes"] = {
    "dies-beyond-the-list": Fault(
        "Dies of a play mode outside the list.", then("take_state", die, _shows_unknown_mode)
    ),
    "dies-of-misfits": Subtle(
        "Dies of an update with more nodes than the full graph.",
        before("take_state", die, PARTIAL & _has_too_many_nodes),
    ),
    "dies-of-infinities": Subtle(
        "Dies of a time that a double cannot hold.",
        before("take_state", die, lambda _, frame: ["time", "1e400"] in frame.value[0]),
    ),
}

FAULTS["frame.length-prefix"] = {
    "closes-above-sixty-four-kilobytes": Subtle(
        "Exits if a message is longer than 65,536 bytes.",
        before("heed", fail(SystemExit), lambda _, frame: len(frame.raw) > 65_540),
    ),
}


@fault("stops-at-misfits", violates="robustness.odd-scenes", subtle=True)
class StopsAtMisfits(Monitor):
    """Ignores everything after an update that does not fit, and keeps its connection."""

    misfit = False

    def take_state(self, frame: Frame) -> None:
        scene = self.view.scene
        if frame.name == "PartialState" and scene is not None:
            self.misfit |= len(Scene(frame.value[2]).nodes) != len(scene.nodes)
        left = self.follow(frame) if self.misfit else frame
        if left:
            super().take_state(left)

    def follow(self, frame: Frame) -> Frame | None:
        """Return the part of a message to read after a misfit, or None."""
        return None


@fault("no-updates-after-misfits", violates="robustness.odd-scenes", subtle=True)
class NoUpdatesAfterMisfits(StopsAtMisfits):
    """Reads only full graphs after an update that does not fit."""

    def follow(self, frame: Frame) -> Frame | None:
        if frame.name != "PartialState":
            return frame
        return replace(frame, value=[*frame.value[:2], []])
