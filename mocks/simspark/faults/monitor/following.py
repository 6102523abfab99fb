"""Faults of the monitor in reading the states."""

import re
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import Scene, number
from conformance.simspark.view import View
from mocks.deviations import fault
from mocks.simspark.faults import decoders
from mocks.simspark.faults.decoders import die
from mocks.simspark.monitor import Monitor


class Viewing(Monitor):
    """A monitor with another view."""

    view_of_its_own: type[View]

    def make_view(self) -> View:
        return self.view_of_its_own()


@fault("introduced-only", violates="monitors.understood")
class IntroducedOnly(Monitor):
    """Ignores all messages after the introduction, but still reads them."""

    def take_state(self, frame: Frame) -> None:
        if self.view.fulls < 2:
            super().take_state(frame)


@fault("two-hundred-states", violates="monitors.understood", subtle=True)
class TwoHundredStates(Monitor):
    """Ignores all states after the first two hundred."""

    taken = 0

    def take_state(self, frame: Frame) -> None:
        self.taken += 1
        if self.taken <= 200:
            super().take_state(frame)


@fault("every-tenth-lost", violates="monitors.understood", subtle=True)
class EveryTenthLost(Monitor):
    """Drops every tenth message."""

    came = 0

    def take_state(self, frame: Frame) -> None:
        self.came += 1
        if self.came % 10:
            super().take_state(frame)


@fault("dies-of-updates", violates="monitors.understood")
class DiesOfUpdates(Monitor):
    """Dies of a partial state, because it expects a full one each time."""

    def take_state(self, frame: Frame) -> None:
        if frame.name == "PartialState":
            die()
        super().take_state(frame)


@fault("dies-of-long-words", violates="text.unknown-ignored", subtle=True)
class DiesOfLongWords(Monitor):
    """Dies of a word of 256 letters."""

    Reader = decoders.Words


@fault("dies-of-unknown-values", violates="text.unknown-ignored")
class DiesOfUnknownValues(Monitor):
    """Dies of the unknown value foul in a game state."""

    def take_state(self, frame: Frame) -> None:
        if any(item[0] == "foul" for item in frame.value[0]):
            die()
        super().take_state(frame)


@fault("numbers-only", violates="text.unknown-ignored", subtle=True)
class NumbersOnly(Monitor):
    """Ignores a partial state with a value that is not a number."""

    def take_state(self, frame: Frame) -> None:
        values = (item[1] for item in frame.value[0] if len(item) > 1)
        if frame.name != "PartialState" or all(number(value) is not None for value in values):
            super().take_state(frame)


@fault("counts-known-values", violates="text.unknown-ignored", subtle=True)
class CountsKnownValues(Monitor):
    """Ignores a full graph with an unknown leaf."""

    def take_state(self, frame: Frame) -> None:
        if b"setFancy" not in frame.raw:
            super().take_state(frame)


@fault("one-list-unread", violates="monitors.published-forms")
class OneListUnread(Monitor):
    """Ignores a state in the list of the environment."""

    def take_state(self, frame: Frame) -> None:
        together = frame.name == "Environment" and any(i[:1] == ["time"] for i in frame.value[0])
        if not together:
            super().take_state(frame)


@fault("exponents-unread", violates="text.numbers", subtle=True)
class ExponentsUnread(Monitor):
    """Ignores messages with a number that has an exponent."""

    def take_state(self, frame: Frame) -> None:
        if not re.search(rb"\de[+-]?\d", frame.raw[4:]):
            super().take_state(frame)


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


@fault("dies-beyond-the-list", violates="robustness.odd-scenes")
class DiesBeyondTheList(Monitor):
    """Dies of a play mode outside the list."""

    def take_state(self, frame: Frame) -> None:
        super().take_state(frame)
        if (self.view.value("play_mode") or 0) >= len(self.view.play_modes) > 0:
            die()


@fault("dies-of-misfits", violates="robustness.odd-scenes", subtle=True)
class DiesOfMisfits(Monitor):
    """Dies of an update with more nodes than the full graph."""

    def take_state(self, frame: Frame) -> None:
        if frame.name == "PartialState" and self.view.scene is not None:
            before = len(self.view.scene.nodes)
            if len(frame.value) > 2 and len(Scene(frame.value[2]).nodes) > before:
                die()
        super().take_state(frame)


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


@fault("one-state-behind", violates="monitors.understood", subtle=True)
class OneStateBehind(Monitor):
    """Reads a message only after the next one has arrived."""

    Reader = decoders.OneBehind


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


@fault("dies-of-infinities", violates="robustness.odd-scenes", subtle=True)
class DiesOfInfinities(Monitor):
    """Dies of a time that a double cannot hold."""

    def take_state(self, frame: Frame) -> None:
        if ["time", "1e400"] in frame.value[0]:
            die()
        super().take_state(frame)


@fault("closes-above-sixty-four-kilobytes", violates="frame.length-prefix", subtle=True)
class ClosesAboveSixtyFourKilobytes(Monitor):
    """Exits if a message is longer than 65,536 bytes."""

    def heed(self, frame: Frame) -> None:
        if len(frame.raw) > 65_540:
            raise SystemExit
        super().heed(frame)
