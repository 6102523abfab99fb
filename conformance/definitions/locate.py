"""Finds the data folders and the protocol packages, in a checkout, in a wheel, or outside both.

A *set* is a folder that holds ``schemas``, ``captures``, ``mocks`` and ``conformance``, each with a
folder per protocol. The first set is this project itself; ``--protocols DIR`` adds others, and the
environment carries them on to every process that the suite starts.
"""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "CONFORMANCE_PROTOCOLS"

_PACKAGE = Path(__file__).resolve().parents[1]


def _data_root() -> Path:
    """Where ``schemas``, ``captures`` and ``reports`` are: in the wheel inside the package."""
    return _PACKAGE if (_PACKAGE / "schemas").is_dir() else _PACKAGE.parent


def reports() -> Path:
    """The folder of the report's template, style, script and schema."""
    return _data_root() / "reports"


def compiled() -> Path | None:
    """Where Python keeps our compiled modules, for what else is made once; None if it may not."""
    folder = _PACKAGE / "__pycache__"
    kept = not sys.dont_write_bytecode and os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    return folder if kept else None


def sets() -> list[Path]:
    """The roots under which protocols are looked for, this project's own first."""
    added = [Path(entry) for entry in os.environ.get(VARIABLE, "").split(os.pathsep) if entry]
    return [_data_root(), *added]


def add(directory: Path) -> None:
    """Add a set of protocols kept elsewhere, for this process and all that it starts."""
    root = directory.resolve()
    if root not in sets():
        known = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = f"{known}{os.pathsep}{root}" if known else str(root)
    extend_packages()


def extend_packages() -> None:
    """Let ``conformance.NAME`` and ``mocks.NAME`` be imported from the added sets as well."""
    for package in ("conformance", "mocks"):
        path = importlib.import_module(package).__path__
        for root in sets()[1:]:
            folder = str(root / package)
            if folder not in path:
                path.append(folder)


def folders(kind: str) -> Iterator[Path]:
    """Every protocol's folder of one kind (``schemas``, ``captures``), built-in set first."""
    for root in sets():
        if (root / kind).is_dir():
            yield from sorted(entry for entry in (root / kind).iterdir() if entry.is_dir())


def folder(kind: str, protocol: str) -> Path | None:
    """The folder of one kind of one protocol, or None where no set has it."""
    return next((entry for entry in folders(kind) if entry.name == protocol), None)
