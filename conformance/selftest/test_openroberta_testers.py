"""The tester of openroberta robots answers the request for which a robot still waits."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.openroberta.robot.tester.exchange import Exchange


@pytest.mark.parametrize("name", ["Register", "Push"])
@pytest.mark.parametrize("given_up", [0, 1, 2])
def test_a_command_goes_to_the_request_that_waits(
    name: str, given_up: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[Exchange] = []

    async def answer(exchange: Exchange, value: Any) -> None:
        answered.append(exchange)

    async def play() -> Exchange:
        async def wait_for(wanted: str, within: float) -> Exchange:
            assert wanted == name
            return coming.pop(0)

        iut: Any = SimpleNamespace(countdown=lambda timing: lambda: 1.0)
        tester: Any = SimpleNamespace(iut=iut, wait_for=wait_for, seconds=lambda timing: 0.1)
        ends = [True] * given_up + [False]
        sessions: list[Any] = [SimpleNamespace(ended=ended) for ended in ends]
        message: Any = SimpleNamespace(name=name)
        coming = [Exchange(tester, session, message) for session in sessions]
        last = coming[-1]
        await coming.pop(0).command("repeat")
        return last

    monkeypatch.setattr(Exchange, "answer", answer)
    last = asyncio.run(play())
    assert answered == [last]
