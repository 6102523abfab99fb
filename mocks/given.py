"""Reads the YAML or JSON files that a mock is given in its options."""

from pathlib import Path
from typing import Any


def load(path: Path) -> Any:
    """What a file holds. Raises ValueError, which names it, or OSError."""
    # Few mocks are given a file, and many could be.
    import yaml

    try:
        return yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
