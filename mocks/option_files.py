"""Read YAML or JSON files that a mock's options name."""

from pathlib import Path
from typing import Any

from conformance import untrusted_files


def load(path: Path) -> Any:
    """Return the contents of a file. Raises ValueError, which names the file."""
    try:
        return untrusted_files.read_yaml(untrusted_files.text(path))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
