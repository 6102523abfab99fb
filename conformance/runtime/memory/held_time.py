"""Measures the time in which the tester holds mutexes, which delays an IUT."""

import contextlib
from collections.abc import Callable, Iterator


class HeldTime:
    """A stopwatch that runs while the tester holds any mutex; ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held = self._began = 0.0
        self._mutexes = 0

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Count one more held mutex within the block."""
        if not self._mutexes:
            self._began = self._clock()
        self._mutexes += 1
        try:
            yield
        finally:
            self._mutexes -= 1
            if not self._mutexes:
                self._held += self._clock() - self._began

    @property
    def seconds(self) -> float:
        """Total time in seconds until now."""
        return self._held + (self._clock() - self._began if self._mutexes else 0.0)
