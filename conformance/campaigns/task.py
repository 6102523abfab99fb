"""Runs a task of a campaign on a worker's machine, independently of the client."""

import io
import os
import select
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from conformance.campaigns.plan import Task
from conformance.harness import abandoned
from mocks.mutants import APPLIED

CONFIGURATION = "conformance.toml"
REPORT = "report"
_PREFIX = "conformance-task-"
_PROGRAM = """
import ctypes, os, signal, sys
parent = os.getppid()
ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG in <linux/prctl.h>
if os.getppid() == parent:
    from conformance import cli
    sys.exit(cli.main())
"""
"""Runs the command `conformance`, and stops it if the worker exits."""
_POLL_INTERVAL = 0.5  # seconds between two checks of the memory of a task
_EXIT_TIME = 10.0  # seconds that a task has to exit after SIGTERM
_OUTPUT = 20_000  # bytes of a task's output that are kept


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    - ``ended``: the reason if the worker ended the task; otherwise empty
    - ``folder``: the folder on the worker, which commands in the report contain
    - ``packed``: the report folder as a compressed archive
    """

    id: str
    code: int
    seconds: float
    ended: str
    output: str
    folder: str
    packed: bytes


def run(task: Task) -> Outcome:
    """Run a task in its own folder, within its limits of time and memory."""
    began = time.monotonic()
    with abandoned.folder(_PREFIX) as folder:
        words = [sys.executable, "-c", _PROGRAM, *task.words, "--report", REPORT]
        if task.configuration:
            (folder / CONFIGURATION).write_text(task.configuration, encoding="utf-8")
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    APPLIED: str(folder / REPORT / "applied"),
                },
            )
            ended = _watch(process, task, began)
        text = (folder / "output").read_bytes()[-_OUTPUT:].decode("utf-8", "replace")
        return Outcome(
            task.id,
            process.returncode,
            round(time.monotonic() - began, 2),
            ended,
            text,
            str(folder),
            _pack(folder / REPORT),
        )


def _watch(process: subprocess.Popen[bytes], task: Task, began: float) -> str:
    """Wait for the end of a task; end it if it exceeds a limit, and return the reason."""
    ended = ""
    exits = os.pidfd_open(process.pid)
    try:
        while not select.select([exits], [], [], _POLL_INTERVAL)[0]:
            if time.monotonic() > began + task.timeout:
                ended = f"ended after {task.timeout:g} s"
            elif (used := memory(process.pid)) > task.memory:
                ended = f"ended at {used:.0f} MiB of memory"
            if ended:
                _end(process)
                break
    finally:
        os.close(exits)
    process.wait()
    return ended


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_EXIT_TIME)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def memory(pid: int) -> float:
    """The memory in MiB that a process and its descendants use."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        child = int(entry.parent.name)
        parents[child], pages[child] = int(fields[1]), int(fields[21])
    family = {pid}
    for child in sorted(parents):
        if parents[child] in family:
            family.add(child)
    return sum(pages.get(each, 0) for each in family) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _pack(folder: Path) -> bytes:
    """The files of a folder as a compressed archive; empty if there is no folder."""
    if not folder.is_dir():
        return b""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=3) as archive:
        archive.add(folder, arcname=".")
    return data.getvalue()
