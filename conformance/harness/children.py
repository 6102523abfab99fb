"""Start a program and report its end, even if tasks are cancelled in between.

asyncio starts a task for each program. If that task is cancelled before it runs, for example at an
interrupt, the caller that starts the program waits for ever.
"""

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence

from conformance.harness import strays

_TURNS = 3  # turns of the event loop, in which the last output of a program is read


class Child:
    """A program that was started in a session of its own."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str, streams: Sequence[int]
    ) -> None:
        """Start the program with these standard streams.

        Raises OSError or ValueError if it cannot start.
        """
        stdin, stdout, stderr = streams
        self._process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd or None,
            env=env,
            start_new_session=True,
        )
        self.pid = self._process.pid
        strays.own_children.add(self.pid)
        self.returncode: int | None = None
        """Its exit code, or its negated signal number; None while it runs."""
        self._ended = asyncio.Event()
        watching = (asyncio.get_running_loop(),)
        threading.Thread(target=self._watch, args=watching, daemon=True).start()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        code = self._process.wait()
        strays.own_children.discard(self.pid)
        # After the event loop is closed, nobody waits for the end.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._end, loop, code, _TURNS)

    def _end(self, loop: asyncio.AbstractEventLoop, code: int, turns: int) -> None:
        if turns:
            loop.call_soon(self._end, loop, code, turns - 1)
        else:
            self.returncode = code
            self._ended.set()

    async def wait(self) -> int | None:
        await self._ended.wait()
        return self.returncode


@contextlib.contextmanager
def lend_pipes(*pipes: tuple[int, int]) -> Iterator[list[int]]:
    """Lend pipes to a program at its start. Each pair is our end and the program's end.

    The program's ends are closed afterwards. Our ends are closed, too, if the program cannot start.
    """
    try:
        yield [theirs for _, theirs in pipes]
    except BaseException:
        for ours, _ in pipes:
            os.close(ours)
        raise
    finally:
        for _, theirs in pipes:
            os.close(theirs)
