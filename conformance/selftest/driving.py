"""Run the command ``conformance`` as a user does, and check its output, files and processes."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from conformance.harness.process import peak
from conformance.selftest.warm import Forked

COMMAND = [sys.executable, "-m", "conformance"]
SIMULATOR = "vexide/simulator"
TIMINGS = ("--timing", "startup=2", "--timing", "response=0.5", "--timing", "program=1")
"""Short timings, with which runs against incorrect IUTs do not take long."""
ONE_TEST = ("-k", "answered_once")
"""Selects one fast test of a simulator, for self-tests about the smoke session."""

PREAMBLE = """
import json, os, signal, subprocess, sys, time

HELLO = {"Handshake": {"version": 1, "extensions": []}}
SIGNATURE = {"VCodeSig": "WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"}

def say(*messages):
    for message in messages:
        print(json.dumps(message), flush=True)

def commands():
    for line in sys.stdin:
        yield json.loads(line)

def serve():
    for command in commands():
        if "Handshake" in command:
            say(HELLO, SIGNATURE, "Ready")
        if command == "StartExecution":
            say("Exited")
            return
"""
"""The parts of a simulator whose program ends immediately. Self-tests replace single parts."""

_MARK = "CONFORMANCE_SELFTEST"
_DEADLINE = 300.0  # seconds; more than any command needs, even on a busy machine


@dataclass(frozen=True)
class Done:
    """A command that has exited: exit code, output, and resources.

    ``seconds`` is its duration. ``memory`` is the largest resident size of its process in bytes.
    ``left`` contains the command lines of processes that are still running. ``litter`` contains the
    temporary files that remain.
    """

    code: int
    out: str
    err: str
    seconds: float
    memory: int
    left: list[str]
    litter: list[str]
    folder: Path

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report that the command wrote."""
        loaded: dict[str, Any] = json.loads(self.text("report.json"))
        return loaded

    @property
    def smoke(self) -> dict[str, Any]:
        return dict(self.report["smoke"])

    @property
    def tests(self) -> dict[str, str]:
        """The verdict of each test, by id."""
        return {test["id"]: test["verdict"] for test in self.report["tests"]}

    @property
    def complaints(self) -> int:
        """The number of failures and errors in junit.xml."""
        root = ElementTree.fromstring(self.text("junit.xml"))
        return int(root.attrib["failures"]) + int(root.attrib["errors"])

    def text(self, name: str) -> str:
        """Return the contents of a file in the folder of the report."""
        return (self.folder / name).read_text("utf-8")

    def verdict(self, requirement: str) -> str:
        """Return the verdict of a requirement."""
        return str(self._entry(requirement)["verdict"])

    def reason(self, requirement: str) -> str:
        return str(self._entry(requirement)["reason"])

    def _entry(self, requirement: str) -> dict[str, Any]:
        entries: list[dict[str, Any]] = self.report["requirements"]
        return next(entry for entry in entries if entry["id"] == requirement)


@dataclass(frozen=True)
class Place:
    """A folder in which programs are written and the command is run."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def program(self, source: str, name: str = "iut.py") -> list[str]:
        """Write a Python program; return the command that starts it."""
        path = self.folder / name
        path.write_text(source, "utf-8")
        return [sys.executable, str(path)]

    def simulator(self, source: str = "serve()") -> list[str]:
        """Write a simulator with the parts in PREAMBLE; return the command that starts it."""
        return self.program(PREAMBLE + source)

    def file(self, name: str, content: str | bytes) -> str:
        """Write another file; return its path."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def run(self, *words: str, iut: list[str] | None = None, **options: Any) -> Done:
        """Run ``conformance run`` with a command that starts the IUT after ``--``."""
        # A selection also writes to this folder, so that self-tests find the report.
        report = () if "--report" in words else ("--report", "conformance-report")
        command = ["--", *iut] if iut else []
        return self.conformance("run", *words, *report, *command, **options)

    def conformance(
        self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Done:
        """Run ``conformance`` until it exits."""
        return self.execute([*COMMAND, *words], cwd, env)

    def execute(
        self,
        words: list[str],
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        until: Path | None = None,
        ended_by: int = signal.SIGTERM,
    ) -> Done:
        """Run a command until it exits. Raises TimeoutError.

        The command gets the signal ``ended_by`` when the file ``until`` exists.
        """
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        inherited = _inherited()
        began = time.monotonic()
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            variables = {**inherited, "TMPDIR": str(temporary), _MARK: self.mark, **(env or {})}
            # The fork server imports each module only once, and a module can read the environment
            # during its import.
            forked = words[:3] == COMMAND and inherited == _INHERITED and not env
            process: subprocess.Popen[bytes] | Forked
            if forked:
                files = (out.fileno(), err.fileno())
                process = Forked(words[3:], variables, str(cwd or self.folder), *files)
            else:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=cwd or self.folder,
                    env=variables,
                )
            if until:
                _await_file(until)
                process.send_signal(ended_by)
            code, memory = _await(process)
        return Done(
            code,
            (self.folder / "out").read_text("utf-8", "replace"),
            (self.folder / "err").read_text("utf-8", "replace"),
            time.monotonic() - began,
            memory,
            self._left(),
            [entry.name for entry in temporary.iterdir()],
            (cwd or self.folder) / "conformance-report",
        )

    def _left(self) -> list[str]:
        """Return the command lines of running processes that commands in this folder started."""
        mark, folder = f"{_MARK}={self.mark}".encode(), os.fsencode(self.folder)
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes()
                if mark in (entry / "environ").read_bytes().split(b"\0") or folder in words:
                    found.append(words.replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


def _inherited() -> dict[str, str]:
    """Return the environment without variables of the surrounding test run."""
    of_a_run = ("PYTEST_", "GITHUB_", "CONFORMANCE_")
    return {key: value for key, value in os.environ.items() if not key.startswith(of_a_run)}


_INHERITED = _inherited()


def _await_file(path: Path) -> None:
    deadline = time.monotonic() + _DEADLINE
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} did not appear")
        time.sleep(0.02)


def _await(process: subprocess.Popen[bytes] | Forked) -> tuple[int, int]:
    """Wait for a process; return its exit code and its largest resident size in bytes.

    The size is sampled, because ``wait4`` also counts the memory of the parent process.
    """
    deadline = time.monotonic() + _DEADLINE
    watch = os.pidfd_open(process.pid)
    memory = 0
    try:
        while not select.select([watch], [], [], 0.05)[0]:
            memory = peak(process.pid) or memory
            if time.monotonic() > deadline:
                process.kill()
                raise TimeoutError(f"{process.args!r} still ran after {_DEADLINE:g} s")
    finally:
        os.close(watch)
        code = process.wait()
    return code, memory
