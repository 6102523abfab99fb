"""Writes a file as a whole: next to its place first, then by a rename."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacement_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that replaces the file at ``path`` when the block ends.

    After an error there, nothing has changed. A symbolic link at ``path`` is replaced, never
    followed. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    file = beside.open("xb")
    try:
        with file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def replace(path: Path, text: str) -> None:
    """Write a whole text file as UTF-8. Raises OSError."""
    with replacement_file(path) as file:
        file.write(text.encode("utf-8"))
