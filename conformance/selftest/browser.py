"""Open pages in a real browser, if one is installed, and evaluate JavaScript in them."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = "no Chromium is installed (as root: apt-get install chromium)"
_DEADLINE = 120.0  # seconds until an answer; long enough for a busy machine
_WORDS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def installed() -> str | None:
    """Return the path of an installed browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A page of a browser, controlled through its debugging pipe."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        self._read = b""
        self._session: str | None = None
        self.complaints: list[str] = []
        """The browser's log: errors of scripts, and requests that the page's policy refused."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file without a cache, at a fragment."""
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=f"{path.resolve().as_uri()}{fragment}")
        while self.ask("document.readyState") != "complete" or self.ask("location.protocol") != (
            "file:"
        ):
            time.sleep(0.02)

    def size(self, width: int, height: int) -> None:
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def dark(self, wanted: bool) -> None:
        scheme = "dark" if wanted else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=features)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression. Raises AssertionError if the expression throws."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """Return a screenshot as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot")["data"])

    def printed(self) -> int:
        """Return the number of printed pages."""
        pdf = base64.b64decode(self._call("Page.printToPDF")["data"])
        return pdf.count(b"/Type /Page\n")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        session = {"sessionId": self._session} if self._session else {}
        call = {"id": number, "method": method, "params": params, **session}
        os.write(self._commands, json.dumps(call).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.complaints.append(json.dumps(message["params"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            if not select.select([self._answers], [], [], _DEADLINE)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._answers, 1 << 20)
            if not data:
                raise EOFError("the browser has exited")
            self._read += data
        line, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser that stores its files in a folder. Stop it after the block."""
    path = installed()
    assert path is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # High numbers, because the browser expects its own descriptors at 3 and 4.
    high = [fcntl.fcntl(number, fcntl.F_DUPFD, 20) for number in (theirs_in, theirs_out)]
    script = f'exec "$@" 3<&{high[0]} 4>&{high[1]}'
    words = [
        "bash",
        "-c",
        script,
        "bash",
        path,
        *_WORDS,
        f"--user-data-dir={folder}",
        "about:blank",
    ]
    process = subprocess.Popen(
        words, pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for number in (theirs_in, theirs_out, *high):
        os.close(number)
    try:
        yield Browser(ours_out, ours_in)
    finally:
        os.close(ours_out)
        os.close(ours_in)
        process.terminate()
        process.wait()
