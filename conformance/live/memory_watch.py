"""Watch two peers without a wire: poll the memory that they share."""

import contextlib
import importlib
import time
from dataclasses import replace
from typing import Any

from conformance.configuration import ConfigurationError
from conformance.definitions.protocol import Protocol
from conformance.judging.captures import Event, Writer
from conformance.judging.judge import Finding
from conformance.judging.judge_queue import (
    MAX_FINDINGS,
    RECORDED,
    JudgedTraffic,
    PartyFinding,
    Unjudged,
)
from conformance.live.judged_session import print_finding
from conformance.live.overview import PairResult
from conformance.live.session import Session
from conformance.running import interruption

_POLL_INTERVAL = 0.005  # seconds between two polls
_SCAN = 0.1  # seconds between two searches for new objects


def looker(protocol: Protocol, options: dict[str, str]) -> Any:
    """Return the `Looker` of the protocol's module `looker`.

    Raises ConfigurationError if there is none, or for unknown options.
    """
    try:
        module = importlib.import_module(f"conformance.{protocol.name}.looker")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"peers of {protocol.name} have no shared memory to look at"
        ) from error
    try:
        return module.Looker(**options)
    except TypeError as error:
        raise ConfigurationError(f"--look: {error}") from error


def watch(looks: Any, protocol: Protocol, session: Session, once: bool) -> PairResult:
    """Poll until SIGINT or SIGTERM, or with ``once`` until all objects are gone; write reports."""
    watching = _Watching(looks, protocol, session)
    with interruption.stop_at_signal():
        # The report contains all findings until the signal.
        with contextlib.suppress(KeyboardInterrupt), contextlib.closing(watching):
            watching.run(once)
        from conformance.live.report import conclude

        return conclude(session, watching.results)


class _Watching:
    """Prints, records and counts findings."""

    def __init__(self, looks: Any, protocol: Protocol, session: Session) -> None:
        title = f"{' and '.join(session.parties)}, live"
        self._writer = Writer(session.record, session.protocol, title, {"running": True})
        self._looks = looks
        self._protocol = protocol
        self._began = time.monotonic()
        self._recorded = 0
        self._seen: dict[tuple[str, str, str], PartyFinding] = {}
        self.results = JudgedTraffic()

    def run(self, once: bool) -> None:
        print("looking", flush=True)
        scanned = 0.0
        ever = False
        while not (once and ever and not self._looks.objects):
            if time.monotonic() > scanned + _SCAN:
                scanned = time.monotonic()
                for name, details in self._looks.find():
                    self._record(name, details)
            ever = ever or self._looks.objects > 0
            for name, details, found in self._looks.look():
                event = self._record(name, details)
                for party, finding in found:
                    self._keep(party, replace(finding, event=event))
            time.sleep(_POLL_INTERVAL)

    def close(self) -> None:
        self.results.findings = list(self._seen.values())
        self.results.exercised = self._looks.exercised
        self.results.messages = {role: len(ids) for role, ids in self._looks.exercised.items()}
        self.results.unjudged = [Unjudged(None, 0.0, why) for why in self._looks.unseen]
        self._looks.close()
        self._writer.close()

    def _record(self, name: str, details: dict[str, Any]) -> int:
        self._recorded += len(str(details))
        if self._recorded > RECORDED:
            return self._writer.events - 1
        at = time.monotonic() - self._began
        described = {"buffer": name, **details}
        event = self._writer.add(Event(at, None, event="memory", details=described))
        self._writer.flush()
        return event

    def _keep(self, party: str, finding: Finding) -> None:
        key = (party, finding.requirement, finding.message)
        if before := self._seen.get(key):
            self._seen[key] = replace(before, times=before.times + 1)
        elif len(self._seen) < MAX_FINDINGS:
            level = self._protocol.requirement(finding.requirement).level
            self._seen[key] = PartyFinding(party, level, finding, 0)
            print_finding(self._seen[key])
