"""What a live session is, for its reports: who met, where it is recorded, and where they go."""

import datetime
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Session:
    """A live session; ``names`` says by role what plays it, where that is known.

    ``parties`` are all who talk, the server and its client first; ``roles`` those that are judged.
    ``verdict`` is a file that the exit code is written to.
    """

    protocol: str
    parties: tuple[str, ...]
    roles: tuple[str, ...]
    record: Path
    folder: Path
    started: datetime.datetime
    invocation: str
    names: dict[str, str]
    verdict: Path | None = None
