"""Writes what a run has found as a list of known failures, for conformance.toml."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.configuration import ConfigurationError


def prepare(file: Path) -> None:
    """Raise ConfigurationError where the list cannot be written later."""
    if file.exists():
        raise ConfigurationError(
            f"--write-known-failures {file}: exists already, and is left as is"
        )
    if not file.absolute().parent.is_dir():
        raise ConfigurationError(f"--write-known-failures {file}: there is no such folder")


def write(report: Mapping[str, Any], file: Path) -> int:
    """Write every violated requirement of a report as an entry; how many there are."""
    day = report["started"][:10]
    lines = ["[known-failures]"]
    entries = [e for e in report["requirements"] if e["verdict"] in ("fail", "warn")]
    for entry in entries:
        # Nothing that the IUT has said may end the comment.
        said = json.dumps(entry["reason"])[:300]
        lines += [f"# {said}", f'"{entry["id"]}" = {{ reason = "known since {day}" }}']
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(entries)
