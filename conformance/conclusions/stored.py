"""Reads reports that earlier runs have written."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from conformance import untrusted
from conformance.configuration import ConfigurationError
from conformance.definitions import locate
from conformance.definitions.schemas import Schema

_MOST = 256 * 1024 * 1024  # bytes of a report that are read


def load(path: Path) -> dict[str, Any]:
    """The report in a file, or in the folder that it was written to. Raises ConfigurationError."""
    file = path / "report.json" if path.is_dir() else path
    try:
        report = untrusted.read_json(untrusted.text(file, _MOST))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{file}: not JSON: {error}") from error
    for wrong in _schema().errors(report):
        raise ConfigurationError(f"{file}: no report of this suite: {wrong.message[:200]}")
    return _upgraded(report)


def _upgraded(report: dict[str, Any]) -> dict[str, Any]:
    """The report with the members that its version did not have yet."""
    for cause in report["causes"]:
        named = [cause["requirement"]] if cause["requirement"] else []
        for member, value in (("requirements", named), ("undecided", []), ("culprit", None)):
            cause.setdefault(member, value)
        for entry in cause["consequences"]:
            entry.setdefault("reproduce", "")
    return report


@cache
def _schema() -> Schema:
    text = (locate.reports() / "report.schema.json").read_text(encoding="utf-8")
    return Schema.of(json.loads(text))
