"""Faults of the monitor in reading the states."""

import re
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import Scene, number
from conformance.simspark.view import View
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults import decoders
from mocks.simspark.faults.decoders import reads
from mocks.simspark.monitor import Monitor
from mocks.steps import When, before, die, every, first, only, skip, then

PARTIAL = When(lambda _, frame: frame.name == "PartialState")


def _has_other_than_numbers(_: Monitor, frame: Frame) -> bool:
    values = (item[1] for item in frame.value[0] if len(item) > 1)
    return any(number(value) is None for value in values)


def _has_environment_and_state(_: Monitor, frame: Frame) -> bool:
    return frame.name == "Environment" and any(i[:1] == ["time"] for i in frame.value[0])


def _shows_unknown_mode(monitor: Monitor, _: Frame) -> bool:
    modes = monitor.view.play_modes
    return (monitor.view.value("play_mode") or 0) >= len(modes) > 0


def _has_too_many_nodes(monitor: Monitor, frame: Frame) -> bool:
    if monitor.view.scene is None or len(frame.value) <= 2:
        return False
    return len(Scene(frame.value[2]).nodes) > len(monitor.view.scene.nodes)


def _exit(*_: Any) -> None:
    raise SystemExit


FAULTS = Table(Monitor)

FAULTS["monitors.understood"] = {
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

FAULTS["text.numbers"] = {
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
        before("heed", _exit, lambda _, frame: len(frame.raw) > 65_540),
    ),
}


class Viewing(Monitor):
    """A monitor with another view."""

    view_of_its_own: type[View]

    def make_view(self) -> View:
        return self.view_of_its_own()


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


class _Forgetting(View):
    def take(self, value: Any) -> None:
        goals = self.state.pop("score_right", None)
        super().take(value)
        if len(value[0]) > 2:
            self.state.setdefault("score_right", goals or "0")


@fault("forgets", violates="monitors.understood")
class Forgets(Viewing):
    """Forgets the score of the right team when a short partial state leaves it out."""

    view_of_its_own = _Forgetting


class _WholeSeconds(View):
    def take(self, value: Any) -> None:
        super().take(value)
        if "time" in self.state:
            self.state["time"] = str(int(float(self.state["time"])))


@fault("whole-seconds", violates="monitors.understood", subtle=True)
class WholeSeconds(Viewing):
    """Cuts the time to whole seconds."""

    view_of_its_own = _WholeSeconds


class _Forwards(View):
    def take(self, value: Any) -> None:
        before = self.value("time")
        super().take(value)
        if before is not None and (self.value("time") or 0.0) < before:
            self.state["time"] = str(before)


@fault("time-only-forwards", violates="monitors.understood", subtle=True)
class TimeOnlyForwards(Viewing):
    """Ignores a time before the latest one, even if a trainer has set it."""

    view_of_its_own = _Forwards


class _NeverZero(View):
    def take(self, value: Any) -> None:
        before = self.state.get("time")
        super().take(value)
        if before and not self.clock:
            self.state["time"] = before


@fault("time-never-zero", violates="monitors.understood", subtle=True)
class TimeNeverZero(Viewing):
    """Ignores a time of 0."""

    view_of_its_own = _NeverZero


class _InOrder(View):
    def take(self, value: Any) -> None:
        super().take(value)
        if self.fulls and value[1][:1] == ["RDS"] and len(value[0]) > 2:
            self.state["time"] = str(value[0][0][-1])


@fault("values-by-place", violates="monitors.understood", subtle=True)
class ValuesByPlace(Viewing):
    """Takes the first value of a longer partial state for the time."""

    view_of_its_own = _InOrder


class _OwnModes(View):
    @property
    def play_mode(self) -> str | None:
        names = ("BeforeKickOff", "KickOff_Left", "KickOff_Right", "PlayOn", "KickIn_Left")
        index = self.value("play_mode")
        if index is None or index >= len(names) or not self.play_modes:
            return super().play_mode
        return names[int(index)]


@fault("own-play-modes", violates="state.play-mode-known", subtle=True)
class OwnPlayModes(Viewing):
    """Looks up an index in a list of its own if that is long enough."""

    view_of_its_own = _OwnModes


class _SeventeenModes(View):
    def take(self, value: Any) -> None:
        super().take(value)
        del self.play_modes[17:]


@fault("seventeen-modes", violates="state.play-mode-known", subtle=True)
class SeventeenModes(Viewing):
    """Has room only for the 17 play modes of the specification's example."""

    view_of_its_own = _SeventeenModes


class _SmallNumbers(View):
    def value(self, key: str) -> float | None:
        found = super().value(key)
        return found if found is None or key == "time" else (found + 128) % 256 - 128


@fault("goals-in-a-byte", violates="monitors.understood", subtle=True)
class GoalsInAByte(Viewing):
    """Keeps goals in a signed byte."""

    view_of_its_own = _SmallNumbers


class _Rewriting(View):
    """Changes every atom of a message before it reads the message."""

    def take(self, value: Any) -> None:
        super().take(self._rewrite_atoms(value))

    def _rewrite_atoms(self, part: Any) -> Any:
        return [*map(self._rewrite_atoms, part)] if isinstance(part, list) else self.rewrite(part)

    def rewrite(self, atom: str) -> str:
        """Return the replacement of an atom."""
        raise NotImplementedError


class _Unsigned(_Rewriting):
    def rewrite(self, atom: str) -> str:
        return "0" if re.match("-[0-9.]", atom) else atom


@fault("negative-numbers-as-zero", violates="monitors.understood", subtle=True)
class NegativeNumbersAsZero(Viewing):
    """Takes every negative number for 0."""

    view_of_its_own = _Unsigned


class _SmallAsZero(_Rewriting):
    def rewrite(self, atom: str) -> str:
        return "0" if re.fullmatch("[-+.0-9]+[eE]-[0-9]+", atom) else atom


@fault("small-exponents-as-zero", violates="text.numbers", subtle=True)
class SmallExponentsAsZero(Viewing):
    """Takes every number with a negative exponent for 0."""

    view_of_its_own = _SmallAsZero


class _WithoutPlus(_Rewriting):
    def rewrite(self, atom: str) -> str:
        return atom if not re.match("[+][0-9.]", atom) else "0"


@fault("plus-signs-unread", violates="text.numbers", subtle=True)
class PlusSignsUnread(Viewing):
    """Takes a number with a plus sign for 0."""

    view_of_its_own = _WithoutPlus
