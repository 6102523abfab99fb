"""The exercise robot of the reference server. All clients see the same exercise."""

import asyncio
from typing import Any, Protocol

from mocks.deltarobot.exercise import Hand, State, Vector


class Watcher(Protocol):
    """A connection that is informed about the exercise."""

    def begin(self, curve: list[Vector]) -> None:
        """Report that an exercise begins, or is running when the connection begins."""
        ...

    def show(self, state: State) -> None: ...

    def end(self, reason: str) -> None:
        """End the connection."""
        ...


class Machine:
    """Runs the exercise and informs all watchers.

    `own` is the curve of the exercise that the machine runs by itself while there are watchers.
    `duration` is the length of this exercise in seconds; after the exercise all connections are
    ended.
    """

    def __init__(self, rate: float, own: list[Vector] | None, duration: float) -> None:
        self._tick = 1 / rate
        self.own = own
        self._duration = duration
        self._watchers: list[Watcher] = []
        self._curve: list[Vector] | None = None
        self._hand = Hand([])
        self._fixed: State | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0.0

    @property
    def is_running(self) -> bool:
        """Return True during an exercise."""
        return self._curve is not None

    def join(self, watcher: Watcher) -> None:
        self._watchers.append(watcher)
        if self._curve is not None:
            watcher.begin(self._curve)
        elif self.own is not None:
            self.begin(self.own)
            self._left = self._duration

    def leave(self, watcher: Watcher) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)
        if not self._watchers and self.own is not None:
            self.stop()

    def begin(self, curve: list[Vector]) -> None:
        """Begin an exercise; a running exercise ends."""
        self.stop()
        self._curve = curve
        self._hand, self._fixed, self._left = Hand(curve), None, float("inf")
        for watcher in list(self._watchers):
            watcher.begin(curve)
        self._schedule_step()

    def hold(self, state: State) -> None:
        """Keep the exercise in this state from now on."""
        self._fixed = state

    def stop(self) -> None:
        self._curve = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def shut_down(self, reason: str) -> None:
        """End all connections."""
        self.stop()
        for watcher in list(self._watchers):
            watcher.end(reason)

    def _schedule_step(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick, self._step)

    def _step(self) -> None:
        self._hand.step(self._tick)
        self._left -= self._tick
        if self._left <= 0:
            self.shut_down("the exercise is finished")
            return
        self._schedule_step()
        state = self._fixed or self._hand.state
        for watcher in list(self._watchers):
            watcher.show(state)


def vector(given: Any) -> Vector:
    """Return three coordinates from JSON. Raises ValueError if the value has another form."""
    if not isinstance(given, list) or len(given) != 3:
        raise ValueError(f"{str(given)[:80]} is not an array of X, Y and Z")
    return [c if isinstance(c, str) else float(c) for c in given]
