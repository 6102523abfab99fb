"""The outcome of a run as a whole: exit code, verdict and headline."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.conclusions.decisions import Culprit
from conformance.configuration import Configuration
from conformance.evidence import Result
from conformance.exits import (
    CONFORMANT,
    INCONCLUSIVE,
    INTERRUPTED,
    NONCONFORMANT,
    SUITE_FAILED,
)
from conformance.judging.coverage import Coverage
from conformance.running.selection import Collected
from conformance.verdicts import Verdict

_VERDICT_OF = {CONFORMANT: "conformant", NONCONFORMANT: "nonconformant"}


@dataclass
class Run:
    """All facts of a run, before the run is judged as a whole.

    - ``smoke`` is the result of the smoke session.
    - ``reached``: the IUT could be started or reached.
    - ``why_stopped``: the reason why the run tried no further tests, such as an IUT that was gone.
    - ``culprits``: the messages that end sessions, isolated by experiments.
    - ``interrupted``: a user ended the run. ``timed_out``: the run reached its ``--max-time``.
    - ``max_parallel``: the most tests that ran at a time. ``why_sequential``: the reason if 1.
    - ``slowdown``: the factor by which programs took longer on a busy machine.
    - ``coverage``: the parts of the protocol that the judged sessions have shown.
    - ``live``: there were no tests; the proxy judged two real peers.
    """

    configuration: Configuration
    started: datetime.datetime
    strict: bool = False
    collected: Collected = field(default_factory=Collected)
    interrupted: bool = False
    reached: bool = True
    why_stopped: str = ""
    max_parallel: int = 1
    slowdown: float = 1.0
    why_sequential: str = ""
    timed_out: bool = False
    live: bool = False
    smoke: Result | None = None
    tests: list[Result] = field(default_factory=list)
    culprits: list[Culprit] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    coverage: Coverage | None = None

    @property
    def selected(self) -> int:
        return max(self.collected.selected, len(self.tests))

    @property
    def smoke_failed(self) -> bool:
        """True if the smoke session failed, so that no test ran."""
        return self.smoke is not None and self.smoke.verdict != Verdict.PASS

    @property
    def is_cut_short(self) -> bool:
        """True if the run ended before all of its tests."""
        return len(self.tests) < self.selected

    @property
    def selection(self) -> dict[str, Any] | None:
        """The part of the role's tests that ran, as in report.json; None for all of them."""
        if self.live:
            return None
        by, of = str(self.configuration.selection), max(self.collected.available, self.selected)
        ran = self.smoke is None or (self.smoke.verdict == Verdict.PASS and not self.why_stopped)
        stopped = ran and self.is_cut_short and not (self.interrupted or self.problems)
        if not by and not stopped and self.selected == of:
            return None
        how = [by or "pytest's own selection"] if by or self.selected < of else []
        how += [f"stopped after test {len(self.tests)}"] if stopped else []
        return {"by": ", ".join(how), "tests": self.selected, "of": of}


def outcome(
    run: Run,
    requirements: Sequence[Mapping[str, Any]],
    stale: Sequence[Mapping[str, str]],
    problems: Sequence[str],
) -> tuple[int, str]:
    """The exit code of the run, and its reason for the headline."""
    verdicts = [entry["verdict"] for entry in requirements]
    if problems:
        return SUITE_FAILED, "the suite itself failed"
    if run.interrupted:
        return INTERRUPTED, ""
    if Verdict.FAIL in verdicts:
        return NONCONFORMANT, run.why_stopped
    if run.smoke and run.smoke_failed:
        what = "the smoke session decided nothing" if run.reached else "the IUT was not reached"
        return INCONCLUSIVE, f"{what}: {run.smoke.detail}"
    if run.why_stopped:
        return INCONCLUSIVE, run.why_stopped
    if not run.selected:
        return INCONCLUSIVE, "the selection matches no test"
    if stale:
        return NONCONFORMANT, "known failures do not apply any more"
    if run.strict and (Verdict.WARN in verdicts or Verdict.INCONCLUSIVE in verdicts):
        return NONCONFORMANT, "strict: warnings and inconclusive verdicts count"
    if run.timed_out:
        return INCONCLUSIVE, _time_limit_text(run)
    if run.selection:
        wanted = set(run.collected.decided)
        shown = (Verdict.PASS, Verdict.KNOWN, Verdict.WARN)
        if not any(entry["id"] in wanted and entry["verdict"] in shown for entry in requirements):
            return INCONCLUSIVE, "no requirement of the selection was exercised"
        return CONFORMANT, _crash_remark(run)
    if not any(is_passed_must(entry) for entry in requirements):
        return INCONCLUSIVE, "no requirement of level must was exercised"
    if reason := mostly_undecided(requirements):
        return INCONCLUSIVE, reason
    return CONFORMANT, ". ".join(filter(None, (_part_remark(run), _crash_remark(run))))


def mostly_undecided(requirements: Sequence[Mapping[str, Any]]) -> str:
    """The reason for no verdict if more musts were not decided than passed; otherwise empty."""
    undecided = sum(map(_is_undecided_must, requirements))
    if undecided <= sum(map(is_passed_must, requirements)):
        return ""
    return f"{undecided} requirements of level must were tried and not decided"


def _part_remark(run: Run) -> str:
    """The remark for a run in which most tests were not exercised; otherwise empty."""
    left = sum(result.verdict is Verdict.NOT_EXERCISED for result in run.tests)
    if 2 * left <= len(run.tests):
        return ""
    return f"Conformant only in part: {left} of {len(run.tests)} tests were not exercised"


def _crash_remark(run: Run) -> str:
    """The remark for crashes that no requirement is about; otherwise empty."""
    crashes = [result.crash for result in run.tests if result.crash]
    if not crashes:
        return ""
    tests = "test" if len(crashes) == 1 else "tests"
    return f"The IUT {crashes[0]} in {len(crashes)} {tests} that judged no end"


def _time_limit_text(run: Run) -> str:
    limit = run.configuration.max_time
    return f"the run reached its --max-time of {limit:g} s after {len(run.tests)} tests"


def verdict_word(code: int) -> str:
    """The verdict of a run with this exit code, as in report.json."""
    return _VERDICT_OF.get(code, "inconclusive")


def headline(lead: str, counts: Mapping[str, int], reason: str) -> str:
    """A run in one line: lead, counts and reason; lead and reason can be empty."""
    exercised = sum(counts[name] for name in ("pass", "fail", "warn", "known"))
    return (
        f"{lead}{exercised} of {sum(counts.values())} requirements exercised "
        f"({counts['pass']} passed, {counts['fail']} failed, {counts['warn']} warned"
        + (f", {counts['known']} known to fail" if counts["known"] else "")
        + f"); {counts['not-exercised']} not exercised, {counts['inconclusive']} inconclusive"
        + (f", {counts['not-applicable']} not applicable" if counts["not-applicable"] else "")
        + (f". {reason}" if reason else "")
    )


def lead(run: Run) -> str:
    """The beginning of the headline if not all tests ran; otherwise empty."""
    if run.interrupted:
        return f"interrupted after {len(run.tests)} of {run.selected} tests: "
    if run.live:
        return "traffic between two peers: "
    if selection := run.selection:
        return f"{selection['tests']} of {selection['of']} tests ({selection['by']}): "
    return ""


def is_passed_must(entry: Mapping[str, Any]) -> bool:
    """True for a passed requirement of level must; a conformant run needs at least one."""
    return entry["level"] == "must" and entry["verdict"] in (Verdict.PASS, Verdict.KNOWN)


def _is_undecided_must(entry: Mapping[str, Any]) -> bool:
    """True for a requirement of level must that the run tried and did not decide."""
    return bool(entry["level"] == "must" and entry["verdict"] == Verdict.INCONCLUSIVE)


def count_verdicts(verdicts: Iterable[str]) -> dict[str, int]:
    """The number of each verdict, by the verdict's name."""
    counts = dict.fromkeys(map(str, Verdict), 0)
    for verdict in verdicts:
        counts[verdict] += 1
    return counts
