"""What a live session is, for its reports: who met, where it is recorded, and where they go."""

import argparse
import datetime
from dataclasses import dataclass
from pathlib import Path

from conformance.definitions.protocol import Protocol


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


def begin(
    protocol: Protocol,
    parties: tuple[str, ...],
    args: argparse.Namespace,
    invocation: str,
    names: dict[str, str],
    verdict: Path | None = None,
) -> Session:
    """The session that begins now; ``args`` say where it is recorded and where its reports go."""
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
