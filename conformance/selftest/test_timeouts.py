"""Waits of tests: timeouts, waits that are not repeated, and late answers."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.evidence import Kind, Result
from conformance.harness.links import NoWire
from conformance.iut import Iut
from conformance.running.results import conclude
from conformance.running.testbed import Testbed
from conformance.running.timeouts import GRACE
from conformance.selftest.scripted import RESPONSE, Scripted, connected, idle_testbed, run
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.vexide.commands import hello

HELLO = b'{"Handshake":{"version":1,"extensions":[]}}\n'
READY = b'"Ready"\n'
SENT, ANSWERED = "ready.sent", "handshake.answered"
FULL = RESPONSE * (1 + GRACE)

Test = Callable[[Session], Awaitable[Any]]


class Trial:
    """Tests of one run, each with an IUT that follows a script."""

    def __init__(self, folder: Path) -> None:
        self.testbed: Testbed = idle_testbed()
        self._folder = folder
        self.seconds = 0.0
        """The length of the latest test."""

    def test(self, name: str, deciding: str, link: NoWire, test: Test) -> Result:
        """Run a test that decides a requirement; return its result."""
        return run(self._test(name, deciding, link, test))

    async def _test(self, name: str, deciding: str, link: NoWire, test: Test) -> Result:
        iut, error = Iut(self.testbed, deciding), None
        try:
            async with connected(iut, link) as session:
                await session.send(hello())
                try:
                    await test(session)
                finally:
                    self.seconds = session.now
        except Exception as raised:
            error = raised
        decides = iut.configuration.protocol.requirement(deciding)
        return conclude(name, "purpose", decides, error, iut, self._folder)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


async def ready(session: Session) -> None:
    await session.expect("Ready")


async def ready_of_another(session: Session) -> None:
    await session.expect("Ready", requirement=SENT)


def test_a_wait_is_made_in_full(trial: Trial) -> None:
    """The declared time, and a grace period in which a late answer would have come."""
    result = trial.test("a", SENT, Scripted((0.1, HELLO)), ready)
    assert trial.seconds == pytest.approx(FULL)
    [fact] = result.evidence
    assert (fact.kind, fact.requirement, fact.missing) == (Kind.TIMEOUT, SENT, (("Ready",),))
    assert fact.message == "expected Ready within 2 s; received Handshake, then nothing"
    assert result.verdict == "fail"


def test_a_wait_is_not_repeated(trial: Trial) -> None:
    """Another test of the same requirement ends at once; the first test decides."""
    trial.test("a", SENT, Scripted(), ready)
    result = trial.test("b", SENT, Scripted((0.1, HELLO)), ready)
    assert trial.seconds < RESPONSE
    assert [fact.kind for fact in result.evidence] == [Kind.NOT_REPEATED]
    assert result.verdict == "inconclusive"
    assert result.detail == "not repeated: the wait for Ready timed out before; see a"


@pytest.mark.parametrize(
    ("deciding", "test", "again"),
    [
        (ANSWERED, ready, True),
        (ANSWERED, ready_of_another, True),
        (SENT, lambda session: session.expect("Exited"), True),
        (SENT, lambda session: session.expect("Ready", "Exited"), True),
        (SENT, lambda session: session.expect("Ready", what="a second Ready"), True),
        (SENT, ready_of_another, False),
    ],
)
def test_other_waits_are_made_in_full(deciding: str, test: Test, again: bool, trial: Trial) -> None:
    """Waits differ by the requirement that the test decides, and by the message."""
    trial.test("a", SENT, Scripted(), ready)
    result = trial.test("b", deciding, Scripted(), test)
    assert trial.seconds == pytest.approx(FULL if again else 0.0)
    assert result.evidence[0].kind is (Kind.TIMEOUT if again else Kind.NOT_REPEATED)


def test_a_message_that_has_come_is_taken(trial: Trial) -> None:
    """A message that is there needs no wait, whatever other tests have missed."""

    async def both(session: Session) -> None:
        await session.expect("Handshake")
        await session.expect("Ready")

    trial.test("a", SENT, Scripted(), ready)
    assert trial.test("b", SENT, Scripted((0.1, HELLO + READY)), both).verdict == "pass"


@pytest.mark.parametrize(
    ("after", "kind"),
    [(RESPONSE - 0.1, None), (RESPONSE + 0.1, Kind.LATE), (FULL - 0.1, Kind.LATE)],
)
def test_a_late_answer_is_late_and_not_missing(
    after: float, kind: Kind | None, trial: Trial
) -> None:
    result = trial.test("a", SENT, Scripted((0.1, HELLO), (after - 0.1, READY)), ready)
    assert [fact.kind for fact in result.evidence] == ([kind] if kind else [])
    assert result.verdict == ("inconclusive" if kind else "pass")
    if kind:
        assert result.evidence[0].amount == pytest.approx(after)
        assert result.detail == f"expected Ready within 2 s; it came after {after:.1f} s"
    trial.test("b", SENT, Scripted(), ready)
    assert trial.seconds == pytest.approx(FULL), "nothing has timed out before"


def test_an_end_is_no_timeout(trial: Trial) -> None:
    """A stream that ends shows nothing about the next instance, which is awaited in full."""
    result = trial.test("a", SENT, Scripted((0.1, HELLO), (0.1, b"")), ready)
    assert trial.seconds < RESPONSE
    [fact] = result.evidence
    assert (fact.kind, fact.missing) == (Kind.END, (("Ready",),))
    assert fact.end and fact.end.how == "closed the stream"
    trial.test("b", SENT, Scripted(), ready)
    assert trial.seconds == pytest.approx(FULL)


def test_a_message_that_must_not_come_is_not_missing(trial: Trial) -> None:
    """Silence in the quiet time is the good answer.

    A message with a time of its own is missing.
    """
    missed = []

    async def quiet(session: Session) -> None:
        assert await session.wait_for("Ready") is None
        missed.append([*session.missed])
        assert await session.wait_for("Ready", within=1.0) is None
        missed.append([*session.missed])

    assert trial.test("a", SENT, Scripted(), quiet).verdict == "pass"
    assert missed == [[], [("Ready",)]]
    assert trial.seconds == pytest.approx(1.5)


def test_a_state_that_is_looked_for_is_awaited_in_full_once(trial: Trial) -> None:
    looks = 0

    async def look() -> bool:
        nonlocal looks
        looks += 1
        return False

    async def state(session: Session) -> None:
        if not await session.poll_until(look, "a light", 1.0):
            raise Violation("a light", "it stayed dark")

    assert trial.test("a", SENT, Scripted(), state).evidence[0].missing == (("a light",),)
    assert trial.seconds >= 1.0
    result = trial.test("b", SENT, Scripted(), state)
    assert (trial.seconds, result.evidence[0].kind) == (0.0, Kind.NOT_REPEATED)


def test_messages_that_stop_violate_the_requirement_of_their_flow(trial: Trial) -> None:
    """A flow that stopped for a whole deadline explains the missing message."""
    script = [(0.5, b'{"Battery":{"voltage":1.0,"current":1.0,"capacity":1.0}}\n')] * 2

    async def flows(session: Session) -> None:
        await session.expect("Battery", where=lambda _: False, within=60.0, flow=ANSWERED)

    result = trial.test("a", SENT, Scripted(*script), flows)
    concluded = next(fact for fact in result.evidence if not fact.judged)
    assert (concluded.requirement, concluded.missing) == (ANSWERED, (("more of Battery",),))
    assert trial.seconds < 60


def test_bytes_that_are_no_message_leave_no_grace_period(trial: Trial) -> None:
    """Unreadable bytes end the decoding, so the test does not wait for a late answer."""
    result = trial.test("a", SENT, Scripted((0.1, b"hello\n")), ready)
    assert trial.seconds == pytest.approx(RESPONSE)
    assert result.evidence[0].kind is Kind.UNDECIDED
    assert [fact.requirement for fact in result.evidence[1:]] == ["framing.json-lines"]


def test_no_wait_goes_on_once_no_message_can_be_found() -> None:
    """A reader that is lost in the stream cannot see any message."""
    timing = {"response": 3600.0}
    configuration = Configuration(
        protocols.role("runtime/rpc-server"), connect="127.0.0.1:1", timing=timing
    )

    async def waits() -> tuple[Violation, float]:
        iut = Iut(Testbed(configuration), "rpc.each-answered")
        async with connected(iut, Scripted((0.1, b"\xc1"))) as session:
            with pytest.raises(Violation) as raised:
                await session.expect("Response")
            return raised.value, session.now

    violation, seconds = run(waits())
    assert seconds < 1
    assert violation.came.startswith(
        r"received bytes that are not a message (b'\xc1'), then nothing"
    )
