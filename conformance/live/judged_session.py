"""A live session: its watch, its findings on the terminal, and its reports."""

import argparse
import sys
from pathlib import Path

from conformance.definitions.protocol import Protocol
from conformance.judging.judge_queue import PartyFinding
from conformance.live import session
from conformance.live.overview import PairResult
from conformance.live.relay import Disturbance
from conformance.live.sides import Side
from conformance.live.watch import Watch
from conformance.reporting.text import one_line


class JudgedSession:
    """The judged part of a live session: its watch, and the reports at its end."""

    def __init__(
        self,
        protocol: Protocol,
        ports: list[Side],
        transport: str,
        args: argparse.Namespace,
        invocation: str,
        names: dict[str, str],
        verdict: Path | None = None,
    ) -> None:
        """``names`` gives the program of each role, if known. Raises OSError."""
        self.ports = ports
        self.transport = transport
        self.disturbance = Disturbance(args.delay, args.chop, args.cut, args.stall)
        parties = tuple(
            dict.fromkeys(name for side in ports for name in (side.server, side.client))
        )
        self._session = session.begin(protocol, parties, args, invocation, names, verdict)
        self.watch = Watch(self._session, print_finding, transport)

    def conclude(self) -> PairResult:
        """Write the reports and return the summary; call this after the end of the watch."""
        from conformance.live.report import conclude

        return conclude(self._session, self.watch.results)


def print_finding(seen: PartyFinding) -> None:
    """Print a finding on the terminal."""
    text = one_line(seen.finding.message, 200)
    where = f", connection {seen.connection}" if seen.connection else ""
    level = "inconclusive" if seen.finding.inconclusive else seen.level
    print(
        f"{seen.party}{where}: {seen.finding.requirement} ({level}): {text}",
        file=sys.stderr,
        flush=True,
    )
