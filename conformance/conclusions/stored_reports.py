"""Reads reports that earlier runs have written."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from conformance import untrusted_files
from conformance.configuration import ConfigurationError
from conformance.definitions import locations
from conformance.definitions.schemas import Schema

VERSION = 2
"""The version of report.json's contract."""
GUESSED = "It can be a consequence; the suite that wrote this report made no experiments."
"""The detail of a consequence that version 1 claimed."""
_MAX_SIZE = 256 * 1024 * 1024  # bytes of a report that are read, so that memory has a bound


def load(path: Path) -> dict[str, Any]:
    """The report in a file or in a report's folder. Raises ConfigurationError."""
    file = path / "report.json" if path.is_dir() else path
    try:
        report = untrusted_files.read_json(untrusted_files.text(file, _MAX_SIZE))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{file}: not JSON: {error}") from error
    return check_report(report, str(file))


def check_report(report: Any, name: str) -> dict[str, Any]:
    """Check a decoded report, and return it in the current version. Raises ConfigurationError."""
    for wrong in _schema().errors(report):
        raise ConfigurationError(f"{name}: no report of this suite: {wrong.message[:200]}")
    return _upgrade(report)


def _upgrade(report: dict[str, Any]) -> dict[str, Any]:
    """The report in the current version, with all members that older versions do not have.

    Version 1 has no experiments, so its consequences are only possible: they become undecided.
    """
    for cause in report["causes"]:
        if report.get("version", 1) < VERSION:
            guessed = [{**entry, "detail": GUESSED} for entry in cause["consequences"]]
            cause |= {"consequences": [], "undecided": guessed}
        named = [cause["requirement"]] if cause["requirement"] else []
        for member, value in (("requirements", named), ("undecided", []), ("culprit", None)):
            cause.setdefault(member, value)
        for entry in cause["consequences"]:
            entry.setdefault("reproduce", "")
    return {**report, "version": VERSION}


@cache
def _schema() -> Schema:
    text = (locations.reports() / "report.schema.json").read_text(encoding="utf-8")
    return Schema.of(json.loads(text))
