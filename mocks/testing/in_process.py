"""A mock that plays in a separate process, and is observed through its log."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from mocks import playing
from mocks.run import Entry
from mocks.testing.base import PATIENCE, Mock, MockFailed


class InProcess(Mock):
    """A mock in a separate process, which logs everything as JSON."""

    def start(self) -> None:
        words = [sys.executable, "-m", "mocks", self.role]
        words += ["--judge", "--verbose", "--log", "json", *self._words]
        self._number = 0
        self._answers: dict[int, Any] = {}
        self._settled = 0
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE if self._asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path.cwd(),
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            try:
                told = json.loads(line)
                known = isinstance(told, dict)
            except ValueError:
                known = False
            if not known:
                self._hear(Entry("printed", line.decode(errors="replace").rstrip("\n")))
            elif "event" in told:
                event, text = told.pop("event"), told.pop("text")
                self._settled += event == "settled"
                self._hear(Entry(event, text, told.pop("connection", None), told))
            elif "id" in told:
                with self._changed:
                    self._answers[told["id"]] = told
                    self._changed.notify_all()
        if stream is self._process.stderr:
            self._finish()

    def _finish(self) -> None:
        status = self._process.wait()
        with self._changed:
            self.status = status
            if status > playing.VIOLATED and not self.address:
                self._failure = next((e.text for e in reversed(self.log)), f"exit {status}")
            self._changed.notify_all()

    def end(self) -> None:
        if not hasattr(self, "_process"):
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def _settle(self) -> None:
        with self._changed:
            if self._over or self._process.poll() is not None:
                return
            before = self._settled
            self._process.send_signal(signal.SIGUSR1)
            self._changed.wait_for(lambda: self._settled > before or self._over, PATIENCE)

    def ask(self, operation: str, **args: Any) -> Any:
        """Run an operation of the upper tester (`upper_tester=True`); return its result.

        Raises MockFailed.
        """
        if not self._asks or self._process.stdin is None:
            raise MockFailed(f"{self.role} has no operations without upper_tester=True")
        with self._changed:
            self._number += 1
            number = self._number
            line = json.dumps({"id": number, "op": operation, "args": args})
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            self._changed.wait_for(lambda: number in self._answers or self._over, PATIENCE)
            answer = self._answers.pop(number, {"error": "no answer"})
        if not answer.get("ok"):
            raise MockFailed(f"{operation}: {answer.get('error')}")
        return answer.get("result")
