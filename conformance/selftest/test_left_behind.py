"""No IUT and no signal makes a run leave a process, object or folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.harness import abandoned
from conformance.selftest.driving import COMMAND, ONE_TEST, SIMULATOR, TIMINGS, Place

ESCAPE = """
name = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        words = [sys.executable, "-c", "import time; time.sleep(300)", name]
        os.execve(sys.executable, words, {})
    os._exit(0)
serve()
"""


def running(name: str) -> list[int]:
    """Return the processes that have this word in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if name.encode() in path.read_bytes().split(b"\0") and path.parent.name != "self":
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_an_orphan_without_session_and_environment(place: Place) -> None:
    name = f"orphan-{place.mark}"
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=[*place.simulator(ESCAPE), name])
    assert done.code == 0
    assert running(name) == []
    assert "that the IUT had left behind" in done.err and name in done.err


def test_an_object_of_an_owner_that_is_interrupted(place: Place) -> None:
    """The IUT has mapped an object whose name it has not reported yet."""
    started, name = place.folder / "started", f"conformance-selftest-{place.mark}"
    owner = place.program(
        "import mmap, os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"file = os.open('/dev/shm/{name}', os.O_RDWR | os.O_CREAT, 0o600)\n"
        "os.ftruncate(file, 4096)\nmapped = mmap.mmap(file, 4096)\n"
        f"open({str(started)!r}, 'w')\ntime.sleep(300)\n"
    )
    words = [*COMMAND, "run", "runtime/buffer-owner", "--report", "conformance-report", "--"]
    try:
        done = place.execute([*words, *owner], until=started, ended_by=signal.SIGINT)
        assert done.code == 130
        assert not Path(f"/dev/shm/{name}").exists()
        assert name in done.err
        assert not done.litter
    finally:
        Path(f"/dev/shm/{name}").unlink(missing_ok=True)


def test_folders_of_killed_runs_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = (
        "import sys, tempfile; from conformance.harness import abandoned\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "with abandoned.temporary() as folder: print(folder, flush=True); sys.stdin.read()\n"
    )
    words = [sys.executable, "-c", script]
    folders = []
    processes = []
    for _ in range(2):
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        folders.append(Path(process.stdout.readline().strip()))
        processes.append(process)
    killed, lives = processes
    killed.kill()
    killed.wait()
    (folders[0] / "file").touch()
    old = time.time() - 3600
    for folder in folders:
        os.utime(folder, (old, old))
    with abandoned.temporary():
        assert [folder.exists() for folder in folders] == [False, True]
    lives.communicate("")
    assert list(tmp_path.iterdir()) == []


def test_programs_and_objects_of_a_killed_run_are_removed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The IUT has mapped an object, and does not notice the end of the suite."""
    started, name = place.folder / "started", f"conformance-selftest-{place.mark}"
    server = place.program(
        "import mmap, os, signal, time\n"
        "os.fork() or os.setsid()\n"
        f"file = os.open('/dev/shm/{name}', os.O_RDWR | os.O_CREAT, 0o600)\n"
        "os.ftruncate(file, 4096)\nmapped = mmap.mmap(file, 4096)\n"
        f"open({str(started)!r}, 'w')\ntime.sleep(300)\n"
    )
    words = [*COMMAND, "run", "runtime/rpc-server", "--report", "conformance-report", "--"]
    try:
        done = place.execute(
            [*words, *server, "{port}", name], until=started, ended_by=signal.SIGKILL
        )
        assert len(running(name)) >= 2 and Path(f"/dev/shm/{name}").exists()
        (litter,) = done.litter
        old = time.time() - 3600
        os.utime(place.folder / "tmp" / litter, (old, old))
        monkeypatch.setattr("tempfile.tempdir", str(place.folder / "tmp"))
        # A program that was being started keeps the lock of the folder until its first instruction.
        deadline = time.monotonic() + 60
        while (place.folder / "tmp" / litter).exists() and time.monotonic() < deadline:
            with abandoned.temporary():
                pass
        assert not (place.folder / "tmp" / litter).exists()
        assert not Path(f"/dev/shm/{name}").exists()
        assert running(name) == []
    finally:
        Path(f"/dev/shm/{name}").unlink(missing_ok=True)
        for pid in running(name):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("planted", ["pipe", "link", "words"])
def test_a_journal_that_an_iut_has_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """Nothing outside of the folders is removed, and nothing is waited for."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    objects = tmp_path / "objects"
    objects.mkdir()
    (tmp_path / "outside").touch()
    monkeypatch.setattr(abandoned, "OBJECTS", objects)
    folder = tmp_path / "conformance-run-x"
    folder.mkdir()
    if planted == "pipe":
        os.mkfifo(folder / "journal")
    elif planted == "link":
        (folder / "journal").symlink_to("/dev/zero")
    else:
        (folder / "journal").write_bytes(b"object ../outside\nprocess \n\xff\nobject ..\n" * 9)
    os.utime(folder, (0, 0))
    with abandoned.temporary():
        assert not folder.exists()
    assert (tmp_path / "outside").exists() and objects.exists()


def test_an_orphan_of_a_forked_mock_does_not_stop_the_fork_server() -> None:
    """The kernel gives this orphan to the fork server if it is a subreaper."""
    script = (
        "import ctypes, os, socket, sys, time\n"
        "from mocks.forking import ForkServer\n"
        "ours, theirs = socket.socketpair()\n"
        "server = ForkServer(theirs, print)\n"
        "pid = os.fork() or os._exit(0)\n"
        "time.sleep(0.2)\n"
        "server._reap()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
