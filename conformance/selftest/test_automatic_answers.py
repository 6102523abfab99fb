"""Automatic answers of a session, which never come inside a message sent in parts."""

import asyncio

from conformance.iut import Iut
from conformance.selftest.scripted import Scripted, connected, idle_testbed, run
from conformance.vexide.codec import encode
from conformance.vexide.commands import competition, hello

MODE = encode(competition())
PART = len(MODE) // 2


def test_an_answer_waits_for_the_rest_of_a_message() -> None:
    link = Scripted((0.1, encode("Ready")))

    async def answered() -> list[bytes]:
        async with connected(Iut(idle_testbed(), "ready.sent"), link) as session:
            session.answer("Ready", lambda _: hello())
            await session.send_bytes(MODE[:PART])
            await session.expect("Ready")
            await asyncio.sleep(1)
            before = list(link.written)
            await session.send_bytes(MODE[PART:])
            await asyncio.sleep(1)
            return before

    assert run(answered()) == [MODE[:PART]]
    assert link.written == [MODE[:PART], MODE[PART:], encode(hello())]
