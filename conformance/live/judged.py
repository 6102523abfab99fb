"""A live session from its beginning to its reports: watch, findings on the terminal, pages."""

import argparse
import datetime
import sys
from pathlib import Path
from typing import Any

from conformance.beside import Seen
from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT
from conformance.live import overview
from conformance.live.overview import Met
from conformance.live.relay import Disturbance
from conformance.live.report import write_reports
from conformance.live.sides import Side
from conformance.live.watch import Watch
from conformance.protocol import Protocol
from conformance.reporting.summary import terminal_summary
from conformance.reporting.text import one_line


class Judged:
    """The judged part of a live session: its watch, and the reports at its end."""

    def __init__(
        self,
        protocol: Protocol,
        ports: list[Side],
        transport: str,
        args: argparse.Namespace,
        invocation: str,
        names: dict[str, str] | None = None,
    ) -> None:
        """``names`` says what plays each role, where that is known."""
        self.ports = ports
        self.transport = transport
        self.folder = Path(args.report).resolve()
        self.record = args.record.resolve() if args.record else self.folder / "session.jsonl"
        self.disturbance = Disturbance(args.delay, args.chop, args.cut, args.stall)
        self.met: Met | None = None
        """What came of it, once it is concluded."""
        self._invocation = invocation
        self._names = names or {}
        self._protocol = protocol
        self._started = datetime.datetime.now(datetime.UTC)
        self.watch = Watch(protocol, ports, self.record, self._tell, transport)

    def _tell(self, seen: Seen) -> None:
        requirement = self._protocol.requirements.get(seen.finding.requirement)
        level = requirement.level if requirement else "?"
        text = one_line(seen.finding.message, 200)
        print(
            f"{seen.party}, connection {seen.connection}: {seen.finding.requirement} ({level}): "
            f"{text}",
            file=sys.stderr,
            flush=True,
        )

    def conclude(self) -> int:
        """Write the reports and sum them up; returns the exit code. The watch has ended."""
        reports = write_reports(
            self.watch, self.record, self.folder, self._started, self._invocation, self._names
        )
        for role, report in reports.items():
            print(terminal_summary(report, self.folder / role), file=sys.stderr)
        for text in self.watch.unjudged:
            print(f"Not judged: {one_line(text, 200)}", file=sys.stderr)
        print(f"Recording: {self.record}", file=sys.stderr)
        code = exit_code(self.watch, reports)
        server, client = self.ports[0].server, self.ports[0].client
        names = self._names.get(server, server), self._names.get(client, client)
        self.met = Met(*names, code, reports)
        title = f"{self._protocol.name}: {' and '.join(self.watch.parties)}"
        overview.write(self.folder / "index.html", title, [self.met])
        print(f"Together: {self.met.line}", file=sys.stderr)
        return code


def exit_code(watch: Watch, reports: dict[str, dict[str, Any]]) -> int:
    """The exit code for both sides together."""
    codes = [int(report["exit_code"]) for report in reports.values()]
    if NONCONFORMANT in codes or max(codes, default=0) > INCONCLUSIVE:
        return max(code for code in codes if code != INCONCLUSIVE)
    return CONFORMANT if any(watch.messages.values()) else INCONCLUSIVE
