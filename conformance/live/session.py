"""Description of a live session for its reports: parties, recording and folders."""

import argparse
import datetime
from dataclasses import dataclass
from pathlib import Path

from conformance.definitions.protocol import Protocol


@dataclass(frozen=True)
class Session:
    """A live session; ``names`` gives the program of each role, if known.

    - ``parties``: all parties, the server and its client first
    - ``roles``: the parties that are judged
    - ``verdict``: a file for the exit code
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


def begin(
    protocol: Protocol,
    parties: tuple[str, ...],
    args: argparse.Namespace,
    invocation: str,
    names: dict[str, str],
    verdict: Path | None = None,
) -> Session:
    """Return the session that starts now; ``args`` has the places of recording and reports."""
    folder = Path(args.report).resolve()
    return Session(
        protocol.name,
        parties,
        tuple(party for party in parties if party in protocol.roles),
        args.record.resolve() if args.record else folder / "session.jsonl",
        folder,
        datetime.datetime.now(datetime.UTC),
        invocation,
        names,
        verdict,
    )
