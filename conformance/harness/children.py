"""Starts a program and hears of its end, whatever is cancelled meanwhile.

asyncio's own way starts a task with each program. Where all tasks are cancelled before that one has
run, as at the end of a run that is interrupted, whoever starts the program waits for ever.
"""

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence

_TURNS = 3  # of the event loop, in which what a program has said last is read


class Child:
    """A program that was started, in a session of its own."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str, streams: Sequence[int]
    ) -> None:
        """Start it with these standard streams. Raises OSError or ValueError where it cannot be."""
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
        self.returncode: int | None = None
        """Its exit code, or minus its signal; None while it runs."""
        self._ended = asyncio.Event()
        watching = (asyncio.get_running_loop(),)
        threading.Thread(target=self._watch, args=watching, daemon=True).start()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        code = self._process.wait()
        # Once the loop is closed nobody waits any more.
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
def lent(*pipes: tuple[int, int]) -> Iterator[list[int]]:
    """Pipes, each our end and the program's, while it is started with the latter.

    Those are closed then, and ours as well where it cannot be started.
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
