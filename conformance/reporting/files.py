"""Writes every file of a report."""

import contextlib
import json
import os
from pathlib import Path

from conformance.atomic_files import replacement_file
from conformance.exits import WrongUsage
from conformance.reporting.junit import junit
from conformance.reporting.page import render
from conformance.reporting.wording import Report

_TRIAL = 256 * 1024  # bytes of a trial file: about the size of a small report


class UnwrittenReport(WrongUsage):
    """A report cannot be written; the text names the folder and the reason."""


def write(report: Report, folder: Path) -> None:
    """Write every file of a report to its folder, or none. Raises UnwrittenReport."""
    files = {
        "report.json": (json.dumps(report, indent=1) + "\n").encode(),
        "junit.xml": junit(report),
        "index.html": render(report, folder).encode(),
    }
    try:
        with contextlib.ExitStack() as stack:
            # The stack closes in reverse order: report.json appears last.
            opened = {name: stack.enter_context(replacement_file(folder / name)) for name in files}
            for name, file in opened.items():
                file.write(files[name])
                file.flush()
    except OSError as error:
        why = error.strerror or error
        raise UnwrittenReport(f"the report in {folder} cannot be written: {why}") from error


def prepare(folder: Path) -> None:
    """Create a report's folder, and check that files can be written there. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for link in (folder / "transcripts", folder / "counterexamples"):
        if link.is_symlink():
            raise OSError(None, f"{link.name} is a symbolic link")
    trial = folder / f".trial.{os.getpid()}"
    try:
        with trial.open("xb") as file:
            file.write(bytes(_TRIAL))
    finally:
        with contextlib.suppress(OSError):
            trial.unlink()


def display_path(folder: Path) -> Path:
    """Return a folder's path relative to the working folder, if that exists."""
    try:
        return Path(os.path.relpath(folder))
    except OSError:
        return folder
