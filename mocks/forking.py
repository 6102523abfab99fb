"""Fork processes from a process that has already imported their modules, to start them faster.

A fork server has a socket. Each datagram on this socket asks for one process:

    the JSON object {"arguments": […], "env": {…}, "cwd": "…"}, and with it four descriptors: the
    standard streams of the process, and its life socket, on which the server sends two lines:
    the process id, and the process's end as in a shell: its exit code, or minus its signal

Each process leads its own session. The server kills the process when the other side closes the life
socket. The server exits when no client has the request socket open any more.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

LIMIT = 1024 * 1024  # bytes of a request; the environment is most of it
STREAMS = 3


def _take_over(env: Mapping[str, str]) -> None:
    """Replace the environment; usually only one or two variables differ."""
    for name in os.environ.keys() - env.keys():
        del os.environ[name]
    os.environ.update(env.items() - os.environ.items())
    time.tzset()


class ForkServer:
    """Serve requests; ``play`` runs a process from start to exit, given its arguments.

    ``prepare`` is called with the same arguments before the fork, to import modules in the server.
    """

    def __init__(
        self,
        requests: socket.socket,
        play: Callable[[list[str]], object],
        prepare: Callable[[list[str]], None] = lambda arguments: None,
    ) -> None:
        self._requests = requests
        self._play = play
        self._prepare = prepare
        self._lives: dict[int, socket.socket] = {}
        self._woken, wake = socket.socketpair()
        wake.setblocking(False)
        self._woken.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.detach())

    def serve(self) -> None:
        while True:
            lives = {life: pid for pid, life in self._lives.items()}
            ready, _, _ = select.select([self._requests, self._woken, *lives], [], [])
            if self._woken in ready:
                self._reap()
            for life in ready:
                if (pid := lives.get(life)) in self._lives:
                    self._kill(pid)
            if self._requests in ready and not self._answer():
                break
        for pid in list(self._lives):
            self._kill(pid)

    def _answer(self) -> bool:
        """Fork one process; return False if no client is left."""
        data, descriptors, _, _ = socket.recv_fds(self._requests, LIMIT, STREAMS + 1)
        if not data:
            return False
        *streams, life = descriptors
        wanted = json.loads(data)
        self._prepare(wanted["arguments"])
        # A garbage collection in the child would otherwise copy all existing objects.
        gc.freeze()
        pid = os.fork()
        if not pid:
            self._live(wanted, streams, life)
        for stream in streams:
            os.close(stream)
        self._lives[pid] = socket.socket(fileno=life)
        return True

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(LIMIT)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                life = self._lives.pop(pid, None)
                if life is None:
                    continue  # an orphan that a process of this server has left
                with life, contextlib.suppress(OSError):
                    life.send(b"%d\n" % os.waitstatus_to_exitcode(status))

    def _live(self, wanted: dict[str, Any], streams: list[int], life: int) -> NoReturn:
        """Run the new process, from the fork to its exit."""
        status = 1
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            _take_over(wanted["env"])
            os.chdir(wanted["cwd"])
            # Close all descriptors of the fork server and of its other processes.
            os.dup2(life, STREAMS)
            os.closerange(STREAMS + 1, os.sysconf("SC_OPEN_MAX"))
            os.write(STREAMS, b"%d\n" % os.getpid())
            os.close(STREAMS)
            self._play(wanted["arguments"])
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            if not sys.stdout.closed:
                sys.stdout.flush()
            os._exit(status)

    @staticmethod
    def _kill(pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
