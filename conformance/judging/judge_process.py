"""Keep an object in a separate process: ``python -m conformance.judging.judge_process FD``.

The process makes the object with a function that can be pickled, and serves calls to the object
through a socket. The process exits when its parent exits, even if the parent crashes. Each call is
limited to `MAX_TIME` seconds of computing time. If the parent exits without calling `end`, the
process calls the object's method `abandoned`.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

MAX_TIME = 120.0  # seconds of computing time for one call
_END = ""  # in place of a method name: exit
_NICE = 5  # niceness: on few processors, the parent that waits for an answer runs first


class ProcessGone(Exception):
    """The process has ended, the object could not be made, or a call failed."""


class ProcessObject:
    """An object in a separate process."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Start the process and return at once; the object is made in the background."""
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # A signal to the parent's process group, such as Ctrl-C, must not reach this
                # process.
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            self._pipe.send(make)

    def call(self, method: str, *args: Any) -> Any:
        """Call a method, wait, and return its result. Raises ProcessGone."""
        try:
            self._pipe.send((method, args))
            done, result = self._pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise ProcessGone(f"the judging process has ended{self._how()}") from error
        if not done:
            raise ProcessGone(result)
        return result

    def tell(self, method: str, *args: Any) -> None:
        """Call a method without waiting for its result; `call` cannot be used after this."""
        with contextlib.suppress(OSError):
            self._pipe.send((method, args))

    def end(self) -> None:
        """End the process, and wait until it has exited."""
        self.tell(_END)
        self._pipe.close()
        self._process.wait()

    def _how(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            return f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        return ""


class LocalObject:
    """An object in this process, with the interface of `ProcessObject`; made at the first call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def call(self, method: str, *args: Any) -> Any:
        """Call a method and return its result. Raises ProcessGone."""
        try:
            if self._make:
                self._made, self._make = self._make(), None
            return getattr(self._made, method)(*args)
        except Exception as error:
            raise ProcessGone(f"{type(error).__name__}: {error}") from error

    def tell(self, method: str, *args: Any) -> None:
        """Call a method; ignore its result and its errors."""
        with contextlib.suppress(ProcessGone):
            self.call(method, *args)

    def end(self) -> None:
        """Do nothing: no process was started."""


def _serve(pipe: Connection) -> None:
    try:
        made = LocalObject(pipe.recv())
        while (asked := pipe.recv())[0] != _END:
            answer = _answer(made, *asked)
            # The caller can have exited by now; its earlier requests are still processed.
            with contextlib.suppress(OSError):
                pipe.send(answer)
    except (EOFError, OSError):
        _answer(made, "abandoned", ())


def _answer(made: LocalObject, method: str, args: tuple[Any, ...]) -> tuple[bool, Any]:
    """Call a method; return True and its result, or False and the text of its error."""
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_TIME)
    try:
        return True, made.call(method, *args)
    except ProcessGone as gone:
        return False, str(gone)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


if __name__ == "__main__":
    from conformance.definitions import locations

    os.nice(_NICE)
    locations.extend_packages()
    _serve(Connection(int(sys.argv[1])))
