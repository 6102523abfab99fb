"""A mock that plays in a thread of the test's own process."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent import futures
from typing import Any

from mocks import deviations, playing
from mocks.run import Run
from mocks.testing.base import PATIENCE, Mock, MockFailed
from mocks.upper_tester import Refused, Warned


class _Ended(MockFailed):
    """The mock has ended and takes no calls any more."""


class InThread(Mock):
    """A mock with its own event loop, in a thread of this process."""

    def start(self) -> None:
        module = deviations.role_module(self.role)
        parser = playing.parser(self.role, module, "mock")
        parser.error = self._wrong  # type: ignore[method-assign,assignment]
        args = parser.parse_args(["--judge", "--verbose", *self._words])
        self._loop = asyncio.new_event_loop()
        self._run = Run(self._hear)
        self._run.inside = True
        self._played = self._loop.create_task(playing.play(self._run, module, self.role, args))
        self._takes_calls = True
        self._thread = threading.Thread(target=self._play, daemon=True, name=self.role)
        self._thread.start()

    def _wrong(self, message: str) -> None:
        raise MockFailed(f"{self.role}: {message}")

    def _play(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                status = runner.run(self._wait())
            failure = None
        except Exception as error:
            status, failure = None, str(error) or type(error).__name__
        with self._changed:
            self.status, self._failure = status, failure
            self._changed.notify_all()

    async def _wait(self) -> int:
        try:
            return await self._played
        finally:
            with self._changed:
                self._takes_calls = False
            # Calls that came before become tasks, which the runner cancels.
            await asyncio.sleep(0)

    def end(self) -> None:
        if not hasattr(self, "_thread"):
            return
        if self._thread.is_alive():
            self._call(self._stop)
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            raise MockFailed(f"{self.role} did not end")

    def _stop(self) -> None:
        self._run.ending = True
        self._played.cancel()

    def _call(self, action: Callable[[], Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(action)

    def _settle(self) -> None:
        with contextlib.suppress(_Ended):  # then everything is judged
            self._do(playing.settle(self._run))

    def _do(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the mock's loop; return its result. Raises MockFailed."""
        with self._changed:
            if not self._takes_calls:
                coroutine.close()
                raise _Ended(f"{self.role} has ended")
            done = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return done.result(PATIENCE)
        except futures.CancelledError:
            raise _Ended(f"{self.role} has ended") from None
        except TimeoutError:
            done.cancel()
            raise MockFailed(f"{self.role} did not answer within {PATIENCE:g} s") from None

    def ask(self, operation: str, **args: Any) -> Any:
        """Run an operation of the upper tester (`upper_tester=True`); return its result.

        Raises MockFailed.
        """
        if not self._asks:
            raise MockFailed(f"{self.role} has no operations without upper_tester=True")

        async def do() -> Any:
            await self._run.offered.wait()  # the mock listens shortly before it takes operations
            known = self._run.operations
            if operation not in known:
                raise MockFailed(f"{self.role} has no operation {operation!r}; known: {[*known]}")
            return await known[operation](args)

        try:
            result = self._do(do())
        except (Refused, ValueError, KeyError, TypeError) as error:
            raise MockFailed(f"{operation}: {error}") from error
        return result.result if isinstance(result, Warned) else result

    def deviate(self, *, faults: Iterable[str] = (), variants: Iterable[str] = ()) -> None:
        """Replace all faults and variants of the mock by these."""
        deviations.change(self._run.peer, self.role, faults, variants)
