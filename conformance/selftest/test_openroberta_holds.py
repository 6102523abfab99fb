"""The conclusion from a lab's answer to a held request depends on its time."""

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.openroberta.lab.tester.exchange import Exchange
from conformance.selftest.driving import Place
from conformance.verdicts import Inconclusive, Violation
from conformance.wire import Message

HOLDS = {"register_hold": 300.0, "push_hold": 10.0}


def came(request: str, answer: str, after: float) -> Exception:
    """Return a test's conclusion from an unwanted answer after some seconds."""
    session: Any = SimpleNamespace(now=1.0, seconds=HOLDS.get)
    message: Any = Message(answer, {}, at=1.0 + after, event=2)
    return Exchange(session, request).wrong("no answer for a while", message)


@pytest.mark.parametrize(
    ("request_", "answer", "after"), [("Push", "Repeat", 10.1), ("Register", "Abort", 299.0)]
)
def test_what_ends_a_request_in_its_time_tells_nothing(
    request_: str, answer: str, after: float
) -> None:
    assert isinstance(came(request_, answer, after), Inconclusive)


@pytest.mark.parametrize(
    ("request_", "answer", "after"),
    [
        ("Push", "Repeat", 0.1),
        ("Push", "Download", 10.1),
        ("Register", "Abort", 10.1),
        ("Register", "Repeat", 299.0),
        ("DownloadRequest", "Repeat", 10.1),
    ],
)
def test_all_else_is_wrong(request_: str, answer: str, after: float) -> None:
    assert isinstance(came(request_, answer, after), Violation)


def test_an_abort_within_the_longest_wait_is_early(place: Place) -> None:
    """An abort within --max-wait is early, although the hold of 0.5 s is longer."""
    tries = ("openroberta/lab", "--mock", "--max-wait", "0.3", "--test", "registration::held")
    early = place.run(*tries, "--fault", "second-registration-half-held")
    assert early.verdict("register.held") == "fail"
    sound = place.run(*tries)
    assert sound.verdict("register.held") == "not-exercised"
