"""Reads reports that earlier runs have written."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from conformance.configuration import ConfigurationError
from conformance.definitions import locate


def load(path: Path) -> dict[str, Any]:
    """The report in a file, or in the folder that it was written to. Raises ConfigurationError."""
    file = path / "report.json" if path.is_dir() else path
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file}: not JSON: {error}") from error
    import jsonschema  # what reads no report need not wait for it

    broken = jsonschema.Draft202012Validator(_schema()).iter_errors(report)
    if wrong := jsonschema.exceptions.best_match(broken):
        where = ".".join(str(step) for step in wrong.absolute_path) or "the file"
        raise ConfigurationError(f"{file}: no report of this suite: {where}: {wrong.message[:200]}")
    loaded: dict[str, Any] = report
    return loaded


@cache
def _schema() -> Any:
    text = (locate.reports() / "report.schema.json").read_text(encoding="utf-8")
    return json.loads(text)
