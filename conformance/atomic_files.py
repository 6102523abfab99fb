"""Replaces a file as a whole: writes a new file, and renames it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacement_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that replaces the file at ``path`` when the block ends.

    If the block raises, nothing has changed. A symbolic link at ``path`` is replaced, never
    followed. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    file = temporary.open("xb")
    try:
        with file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def replace(path: Path, text: str) -> None:
    """Write a whole text file as UTF-8. Raises OSError."""
    with replacement_file(path) as file:
        file.write(text.encode("utf-8"))
