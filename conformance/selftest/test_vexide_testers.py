"""The tester of vexide frontends waits for an outcome, and draws with short lines."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.verdicts import NotExercised
from conformance.vexide.codec import encode
from conformance.vexide.events import drawing
from conformance.vexide.frontend import test_screen, tester

LOG = {"log": "a line"}


def outcome(monkeypatch: pytest.MonkeyPatch, *results: Any) -> str | None:
    """Return the outcome if the operation gives these results before the timeout."""
    coming = list(results)

    async def operate(session: Any, operation: str) -> Any:
        return coming.pop(0)

    monkeypatch.setattr(tester, "operate", operate)
    monkeypatch.setattr(tester, "reading_time", lambda session, lines: 1.0)
    session: Any = SimpleNamespace(countdown=lambda seconds: lambda: len(coming) - 0.5)
    return asyncio.run(tester.user_outcome(session))


def test_a_log_without_an_outcome_comes_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(monkeypatch, LOG, None, {**LOG, "outcome": "exited"}) == "exited"
    assert outcome(monkeypatch, LOG, {"outcome": "running"}) is None


def test_an_unknown_form_is_not_exercised(monkeypatch: pytest.MonkeyPatch) -> None:
    for form in (LOG, "exited"):
        with pytest.raises(NotExercised, match="received"):
            outcome(monkeypatch, form)


def test_a_frontend_for_short_lines_can_draw_a_pixel_buffer() -> None:
    assert len(encode(drawing(test_screen.PIXELS))) < 4096  # a usual size of a buffer
