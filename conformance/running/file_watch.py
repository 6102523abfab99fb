"""Runs a command again whenever one of its files changes."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.conclusions import stored_reports
from conformance.conclusions.comparison import compare
from conformance.reporting import changes
from conformance.running import interruption

_POLL_INTERVAL = 0.3  # seconds between two checks of the files


def files_of(command: Sequence[str], folder: Path) -> list[Path]:
    """The existing files that the words of a command name, relative to its working folder."""
    return [path for word in command if (path := folder / word).is_file()]


def watch(words: Sequence[str], files: Sequence[Path], report: Path) -> int:
    """Run a command after each change until a signal; return the latest exit code.

    After each run except the first, print the changes of ``report`` since the run before.
    """
    code, latest = 0, _report(report)
    # A shell starts programs in the background with ignored signals. `stop_at_signal` handles them.
    with interruption.stop_at_signal(), contextlib.suppress(KeyboardInterrupt):
        while True:
            before = _stamps(files)
            code = _run(words)
            earlier, latest = latest, _report(report)
            if earlier and latest:
                found = compare(earlier, latest, "the run before").to_json()
                print("\n".join(["Since the run before:", *changes.lines(found)]))
            names = ", ".join(os.path.relpath(path) for path in files)
            print(f"\nwaiting for a change of {names} (Ctrl-C ends)", flush=True)
            while _stamps(files) == before:
                time.sleep(_POLL_INTERVAL)
            # Another program can still be writing the file.
            while (now := _stamps(files)) != before:
                before = now
                time.sleep(_POLL_INTERVAL)
            print(flush=True)
    return code


def _report(path: Path) -> dict[str, Any] | None:
    """The report that a run has written; None if there is none."""
    return stored_reports.load(path) if path.is_file() else None


def _run(words: Sequence[str]) -> int:
    sys.stdout.flush()
    process = subprocess.Popen(words)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _stamps(files: Sequence[Path]) -> list[tuple[int, int]]:
    """The times and sizes of files; zeros for a file that another program is replacing."""
    stamps = []
    for path in files:
        try:
            status = path.stat()
            stamps.append((status.st_mtime_ns, status.st_size))
        except FileNotFoundError:
            stamps.append((0, 0))
    return stamps
