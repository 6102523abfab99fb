"""The page of the reference lab, in a real headless browser."""

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conformance.selftest.test_openroberta_mocks import lab_running, robot_running
from mocks.openroberta.files import PROGRAMS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DEADLINE = 30.0  # seconds that a browser can take for anything

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(not CHROMIUM, reason="needs the browser chromium, which is not installed"),
]

# The browser communicates over descriptors 3 and 4, whatever numbers they have here.
_STARTS = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
_OPTIONS = (
    "--headless",
    # The browser's sandbox is not available to root, the user in containers.
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class Browser:
    """A browser with one page, controlled by its DevTools protocol."""

    def __init__(self, reader: asyncio.StreamReader, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        self._latest = 0
        self._session: dict[str, str] = {}

    async def open(self, url: str) -> None:
        target = await self._ask("Target.createTarget", url=url)
        attached = await self._ask(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = {"sessionId": attached["sessionId"]}

    async def does(self, script: str) -> Any:
        """Return the value of a JavaScript expression; wait for it if it is a promise."""
        done = await self._ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def poll_until(self, script: str, wanted: Any) -> None:
        """Wait until an expression has a value. Raises AssertionError with its actual value."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DEADLINE
        while (seen := await self.does(script)) != wanted:
            assert loop.time() < deadline, f"{script} is {seen!r}, not {wanted!r}"
            await asyncio.sleep(0.05)

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._latest += 1
        asked = {"id": self._latest, "method": method, "params": params, **self._session}
        os.write(self._writer, json.dumps(asked).encode() + b"\0")
        while True:
            async with asyncio.timeout(DEADLINE):
                message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            if message.get("id") == self._latest:
                assert "result" in message, message
                result: dict[str, Any] = message["result"]
                return result


@contextlib.asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    theirs_in, ours_out = _pipe()
    ours_in, theirs_out = _pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _STARTS, str(theirs_in), str(theirs_out), str(CHROMIUM)),
        *(*_OPTIONS, f"--user-data-dir={folder}"),
        pass_fds=(theirs_in, theirs_out),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    reader = asyncio.StreamReader(limit=1 << 24)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb", buffering=0)
    )
    try:
        yield Browser(reader, ours_out)
    finally:
        # The browser and its processes exit when their controlling pipe is closed.
        transport.close()
        os.close(ours_out)
        try:
            await asyncio.wait_for(process.wait(), DEADLINE)
        except TimeoutError:
            process.kill()
            await process.wait()


def _pipe() -> list[int]:
    """Return both ends of a pipe, with numbers that the browser does not use."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


def cell(number: int) -> str:
    """Return the text in a column of the robot's row."""
    return f'document.querySelector("tr[data-token=ABCD2345]")?.cells[{number}].textContent'


async def test_a_user(tmp_path: Path) -> None:
    """The user enters a token, runs a program, updates, and sees state, battery and sensors."""
    enter = (
        'document.querySelector("#token").value = "{}"; '
        'document.querySelector("form button").click()'
    )
    async with (
        lab_running(register_hold=DEADLINE) as (lab, port),
        robot_running(port, name="<b>Toy</b>") as robot,
        browser(tmp_path) as page,
    ):
        await page.open(f"http://127.0.0.1:{port}/")
        await page.poll_until('document.querySelector("#program")?.options.length', len(PROGRAMS))
        await page.does(enter.format("NOBODY"))
        problem = "no robot waits for the token 'NOBODY' to be entered"
        await page.poll_until('document.querySelector("#problem").textContent', problem)
        await page.does(enter.format("ABCD2345"))
        await page.poll_until(cell(2), "waiting")
        await page.poll_until('document.querySelector("#problem").textContent', "")
        assert await page.does(cell(1)) == "<b>Toy</b>"
        robot.battery = "6.6"
        await page.poll_until(cell(3), "6.6")
        await page.poll_until(f'{cell(5)}.includes("1-TOUCH: 0")', True)
        await page.does('document.querySelector("#program").value = "drive.toy"')
        await page.does('document.querySelector("tr[data-token=ABCD2345] .run").click()')
        await page.poll_until(cell(2), "running")
        await page.poll_until(cell(4), "0")
        await page.poll_until(cell(2), "waiting")
        assert robot.executed[-1]["name"] == "drive.toy"
        assert lab.state("ABCD2345")["exitvalue"] == 0
        await page.does('document.querySelector("tr[data-token=ABCD2345] .update").click()')
        await page.poll_until(cell(2), "unknown")
