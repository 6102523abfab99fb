"""Report of a live session: a page for each of the two peers."""

import shutil
import sys
from typing import Any

from conformance.conclusions.decisions import decide_test
from conformance.conclusions.outcome import Run
from conformance.conclusions.report import build
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.evidence import Evidence, Files, Kind, Observed, Place, Result
from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT
from conformance.judging.judge_queue import JudgedTraffic, PartyFinding
from conformance.live import overview
from conformance.live.overview import PairResult
from conformance.live.session import Session
from conformance.reporting.files import write
from conformance.reporting.summary import terminal_summary
from conformance.reporting.text import one_line
from conformance.verdicts import Verdict

# bytes of a recording that are copied into a report; a browser can still open the page
MAX_COPIED = 16 * 1024 * 1024


def conclude(session: Session, traffic: JudgedTraffic) -> PairResult:
    """Write the report of each role to a folder with its name; return the summary."""
    reports = {role: _write(session, traffic, role) for role in session.roles}
    for role, report in reports.items():
        print(terminal_summary(report, session.folder / role), file=sys.stderr)
    for lost in traffic.unjudged:
        where = f"connection {lost.connection}" if lost.connection else "everything"
        text = one_line(f"{where} from {lost.at:.1f} s on: {lost.why}", 200)
        print(f"Not judged: {text}", file=sys.stderr)
    print(f"Recording: {session.record}", file=sys.stderr)
    server, client = (session.names.get(party) or party for party in session.parties[:2])
    met = PairResult(server, client, exit_code(traffic, reports), reports)
    title = f"{session.protocol}: {' and '.join(session.parties)}"
    overview.write(session.folder / "index.html", title, [met])
    partly = "; not all was judged" if met.code == INCONCLUSIVE and traffic.unjudged else ""
    print(f"Together: {met.line}{partly}", file=sys.stderr)
    if session.verdict:
        session.verdict.write_text(str(met.code))
    return met


def exit_code(traffic: JudgedTraffic, reports: dict[str, dict[str, Any]]) -> int:
    """Return the exit code for both sides together."""
    codes = [int(report["exit_code"]) for report in reports.values()]
    if NONCONFORMANT in codes or max(codes, default=0) > INCONCLUSIVE:
        return max(code for code in codes if code != INCONCLUSIVE)
    # A connection that is not judged to its end can have had any violation. Observers of memory
    # never see everything; they name no connection.
    if any(lost.connection for lost in traffic.unjudged):
        return INCONCLUSIVE
    return CONFORMANT if any(traffic.messages.values()) else INCONCLUSIVE


def _write(session: Session, traffic: JudgedTraffic, role: str) -> dict[str, Any]:
    protocol = protocols.load(session.protocol)
    folder, record = session.folder / role, session.record
    transcript = "transcripts/session.jsonl"
    (folder / "transcripts").mkdir(parents=True, exist_ok=True)
    if record.stat().st_size <= MAX_COPIED:
        shutil.copyfile(record, folder / transcript)
    else:
        with record.open(encoding="utf-8") as lines, (folder / transcript).open("w") as part:
            part.writelines(lines.readlines(MAX_COPIED))
    reproduce = f"conformance check --role {role} {record}"
    found_about_role = [found for found in traffic.findings if found.party == role]
    evidence = tuple(
        Evidence(
            Kind.VIOLATION,
            found.finding.requirement,
            _count(found),
            came=_count(found),
            place=Place(transcript, found.finding.event, found.finding.path),
            judged=True,
        )
        for found in found_about_role
        if not found.finding.inconclusive
    )
    decides = protocol.requirement(protocol.schema_requirement)
    verdict, detail = decide_test(decides, evidence, ())
    if not traffic.messages.get(role):
        verdict, detail = Verdict.NOT_EXERCISED, "no message of this peer has passed"
    whole = Result(
        "session",
        "All messages between the two peers",
        decides.id,
        verdict,
        detail,
        evidence=evidence,
        files=Files(transcript),
        observed=Observed(exercised=frozenset(traffic.exercised.get(role, ()))),
        reproduce=reproduce,
    )
    left = [
        _undelivered_result(found, transcript, reproduce)
        for found in found_about_role
        if found.finding.inconclusive
    ]
    configuration = Configuration(
        protocol.role(role),
        name=session.names.get(role) or f"{role}, live",
        invocation=session.invocation,
    )
    run = Run(
        configuration,
        session.started,
        live=True,
        tests=[whole, *left],
        coverage=traffic.coverage,
    )
    report = build(run)
    write(report, folder)
    return report


def _count(found: PartyFinding) -> str:
    return found.finding.message + (f" ({found.times} times)" if found.times > 1 else "")


def _undelivered_result(found: PartyFinding, transcript: str, reproduce: str) -> Result:
    """The result for a message that was still missing at the end, and can have been late."""
    finding = found.finding
    fact = Evidence(
        Kind.UNDECIDED, finding.requirement, _count(found), place=Place(transcript, finding.event)
    )
    return Result(
        f"session[{finding.requirement}]",
        "A message was missing when the session ended",
        finding.requirement,
        Verdict.INCONCLUSIVE,
        _count(found),
        evidence=(fact,),
        files=Files(transcript),
        reproduce=reproduce,
    )
