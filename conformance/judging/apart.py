"""Keeps an object in a process of its own: ``python -m conformance.judging.apart FD``.

The object is made there, by a function that can be pickled, and is called through a socket. Its
process ends with the one that started it, however that ends, and does not compute for ever. Where
nobody has called `end` it may first do what is left to do, in its method `abandoned`.
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

LONGEST = 120.0  # seconds of computing time for one call
_END = ""  # in the place of a method
_NICE = 5  # whoever waits for an answer is served first where there are few processors


class Gone(Exception):
    """The process has ended, or the object could not be made, or a call has raised an error."""


class Apart:
    """An object in a process of its own."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Returns at once: the object is made meanwhile."""
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # What is sent to a whole group of processes, such as Ctrl-C, is not meant for it.
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            self._pipe.send(make)

    def call(self, method: str, *args: Any) -> Any:
        """The result of a method; waits for it. Raises Gone."""
        try:
            self._pipe.send((method, args))
            done, result = self._pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise Gone(f"its process has ended{self._how()}") from error
        if not done:
            raise Gone(result)
        return result

    def tell(self, method: str, *args: Any) -> None:
        """Have a method called, and do not wait for that; nothing can be called any more."""
        with contextlib.suppress(OSError):
            self._pipe.send((method, args))

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        self.tell(_END)
        self._pipe.close()
        self._process.wait()

    def _how(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            return f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        return ""


class Here:
    """The same for an object of this process, which is made when it is called first."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def call(self, method: str, *args: Any) -> Any:
        """The result of a method. Raises Gone."""
        try:
            if self._make:
                self._made, self._make = self._make(), None
            return getattr(self._made, method)(*args)
        except Exception as error:
            raise Gone(f"{type(error).__name__}: {error}") from error

    def tell(self, method: str, *args: Any) -> None:
        """Call a method, whatever comes of that."""
        with contextlib.suppress(Gone):
            self.call(method, *args)

    def end(self) -> None:
        """There is nothing to end."""


def _serve(pipe: Connection) -> None:
    try:
        made = Here(pipe.recv())
        while (asked := pipe.recv())[0] != _END:
            answer = _answer(made, *asked)
            # Who has asked may be gone by now; what it asked for before is done still.
            with contextlib.suppress(OSError):
                pipe.send(answer)
    except (EOFError, OSError):
        _answer(made, "abandoned", ())


def _answer(made: Here, method: str, args: tuple[Any, ...]) -> tuple[bool, Any]:
    """Whether a call was done, and its result or else why not."""
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        return True, made.call(method, *args)
    except Gone as gone:
        return False, str(gone)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


if __name__ == "__main__":
    from conformance.definitions import locate

    os.nice(_NICE)
    locate.extend_packages()
    _serve(Connection(int(sys.argv[1])))
