"""A mock forked from a warm process lives and ends like `python -m mocks`."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from conformance.harness import fork_server
from conformance.harness.process import Process
from conformance.verdicts import Unreachable

pytestmark = pytest.mark.asyncio
ECHO = ("vexide/simulator", "--program", "idle")


@asynccontextmanager
async def started(
    *arguments: str, env: dict[str, str] | None = None, cwd: str = ""
) -> AsyncIterator[Process]:
    process = await Process.start(
        [*fork_server.MOCK, *arguments], env=env or {}, cwd=cwd, standard=True
    )
    try:
        yield process
    finally:
        await process.end()


def parent(pid: int) -> int:
    """Return the process that has started this one."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))


def forked_off(pid: int) -> bool:
    return b"mocks.forkserver" in Path(f"/proc/{parent(pid)}/cmdline").read_bytes()


def files(pid: int) -> list[str]:
    return [os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()]


def gone(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text("ascii")
    except FileNotFoundError:
        return True


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while not gone(pid):  # noqa: ASYNC110  the process is not our child: no event reports it
            await asyncio.sleep(0.01)


async def test_it_is_forked_and_answers() -> None:
    async with started(*ECHO) as process, started(*ECHO) as second:
        assert forked_off(process.pid)
        assert parent(process.pid) == parent(second.pid)
        assert os.getsid(process.pid) == process.pid != os.getsid(second.pid)
        for one in (process, second):
            assert await one.standard.write(b'{"Handshake":{"version":1,"extensions":[]}}\n')
            assert b"Handshake" in await one.standard.read()


async def test_its_environment_folder_and_open_files_are_its_own(tmp_path: Path) -> None:
    async with started(*ECHO), started(*ECHO, env={"OWN": "1"}, cwd=str(tmp_path)) as process:
        assert os.readlink(f"/proc/{process.pid}/cwd") == str(tmp_path)
        assert sum(name.startswith("pipe:") for name in files(process.pid)) == 3


async def test_its_exit_code_and_its_last_words_are_told() -> None:
    async with started("vexide/simulator", "--no-such-option") as process:
        assert await process.wait(20)
        assert process.exit == "exited with code 2"
    assert "unrecognized arguments: --no-such-option" in process.stderr.text
    async with started("vexide/nobody") as process:
        assert await process.wait(20)
    assert "there is no mock of 'vexide/nobody'" in process.stderr.text


async def test_the_signal_that_killed_it_is_told() -> None:
    async with started(*ECHO) as process:
        os.kill(process.pid, signal.SIGSEGV)
        assert await process.wait(20)
        assert process.exit == "was killed by SIGSEGV"
        assert process.has_crashed


async def test_a_fork_server_that_was_killed_is_replaced() -> None:
    async with started(*ECHO) as process:
        os.kill(parent(process.pid), signal.SIGKILL)
        assert await process.wait(20)
        assert process.exit == "was killed by SIGKILL"
    async with started(*ECHO) as process:
        assert process.exit is None


async def test_a_command_of_another_kind_is_not_forked() -> None:
    with pytest.raises(Unreachable, match="no-such-program cannot be started"):
        await Process.start(["no-such-program"], env={}, cwd="", standard=True)
    waits = [sys.executable, "-c", "input()"]
    process = await Process.start(waits, env={}, cwd="", standard=True)
    try:
        assert not forked_off(process.pid)
    finally:
        await process.end()


async def test_no_mock_outlives_a_tester_that_was_killed() -> None:
    script = (
        "import asyncio\n"
        "from conformance.selftest.test_fork_server import ECHO, started\n"
        "async def main():\n"
        "    async with started(*ECHO) as process:\n"
        "        print(process.pid, flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    tester = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=subprocess.PIPE
    )
    assert tester.stdout is not None
    pid = int(await tester.stdout.readline())
    tester.kill()
    await tester.wait()
    await until_gone(pid)


async def test_the_fork_server_ends_before_those_who_asked() -> None:
    script = (
        "import asyncio\n"
        "from conformance.selftest.test_fork_server import ECHO, parent, started\n"
        "async def main():\n"
        "    async with started(*ECHO) as process:\n"
        "        print(parent(process.pid), flush=True)\n"
        "asyncio.run(main())\n"
    )
    asker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=subprocess.PIPE
    )
    output, _ = await asker.communicate()
    assert gone(int(output))
