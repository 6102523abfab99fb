"""Read YAML or JSON files that a mock's options name."""

from pathlib import Path
from typing import Any


def load(path: Path) -> Any:
    """Return the contents of a file. Raises ValueError, which names the file, or OSError."""
    # Imported here because few mocks are given a file.
    import yaml

    try:
        return yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
