"""Finds the data folders and protocol packages in a checkout, in a wheel, or elsewhere.

A *set* is a folder that contains ``schemas``, ``captures``, ``mocks`` and ``conformance``, each
with a folder for each protocol. The first set is this project itself; ``--protocols DIR`` adds
others. An environment variable passes them to all processes that the suite starts.
"""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "CONFORMANCE_PROTOCOLS"

_PACKAGE = Path(__file__).resolve().parents[1]


def _data_root() -> Path:
    """Return the folder of ``schemas``, ``captures`` and ``reports``.

    A wheel has them inside the package, a checkout next to it.
    """
    return _PACKAGE if (_PACKAGE / "schemas").is_dir() else _PACKAGE.parent


def reports() -> Path:
    """Return the folder of the report's template, style, script and schema."""
    return _data_root() / "reports"


def cache_folder() -> Path | None:
    """Return the folder of Python's compiled modules, for other cached files.

    Returns None if the folder cannot be used or Python writes no compiled modules.
    """
    folder = _PACKAGE / "__pycache__"
    usable = not sys.dont_write_bytecode and os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    return folder if usable else None


def sets() -> list[Path]:
    """Return the root folders of all sets, this project's own first."""
    added = [Path(entry) for entry in os.environ.get(VARIABLE, "").split(os.pathsep) if entry]
    return [_data_root(), *added]


def add(directory: Path) -> None:
    """Add an external set of protocols, for this process and all processes that it starts."""
    root = directory.resolve()
    if root not in sets():
        known = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = f"{known}{os.pathsep}{root}" if known else str(root)
    extend_packages()


def extend_packages() -> None:
    """Make ``conformance.NAME`` and ``mocks.NAME`` importable from the added sets as well."""
    for package in ("conformance", "mocks"):
        path = importlib.import_module(package).__path__
        for root in sets()[1:]:
            folder = str(root / package)
            if folder not in path:
                path.append(folder)


def folders(kind: str) -> Iterator[Path]:
    """Yield every protocol's folder of one kind, such as ``schemas``; the built-in set first."""
    for root in sets():
        if (root / kind).is_dir():
            yield from sorted(entry for entry in (root / kind).iterdir() if entry.is_dir())


def folder(kind: str, protocol: str) -> Path | None:
    """Return a protocol's folder of one kind, or None if no set has it."""
    return next((entry for entry in folders(kind) if entry.name == protocol), None)
