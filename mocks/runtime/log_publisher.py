"""The reference log publisher: sends messages of its upper tester or of a simulated program.

It runs no robot program.
"""

import argparse
import asyncio
import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from conformance.runtime.codec import encode
from mocks import upper_tester, zeromq
from mocks.streams import Stream

LEVELS = ("debug", "info", "warning", "error", "critical")


class Publisher:
    """A connection to a subscriber of the log."""

    stream: Stream

    async def run(self, stream: Stream) -> None:
        """Read until the subscriber disconnects."""
        self.stream = stream
        while await stream.read():
            pass

    def log(self, level: str, event: str, logger: str, extra: Mapping[str, Any]) -> None:
        self.publish(self.message(level, event, logger, extra))

    def message(
        self, level: str, event: str, logger: str, extra: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "event": self.event(event),
            "logger": logger,
            "level": self.level(level),
            "timestamp": self.timestamp(datetime.now(UTC)),
            "extra": self.context(extra),
        }

    def event(self, event: str) -> Any:
        return event

    def level(self, level: str) -> Any:
        return level

    def timestamp(self, now: datetime) -> Any:
        return now.isoformat()

    def context(self, extra: Mapping[str, Any]) -> Any:
        return dict(extra)

    def publish(self, message: dict[str, Any]) -> None:
        self.write(encode(message))

    def write(self, data: bytes) -> None:
        self.stream.write(data)


PEER = Publisher


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="serve operations on stdin")
    parser.add_argument(
        "--every",
        type=float,
        default=0.5,
        metavar="S",
        help="seconds between two messages of the simulated program",
    )


async def main(args: argparse.Namespace, peer: type[Publisher]) -> int:
    """Connect, and publish until terminated."""
    if not (args.connect or args.listen):
        raise ValueError("a publisher needs --connect")
    publisher = peer()
    stream = await (
        zeromq.connect(args.connect, publishes=True) if args.connect else zeromq.accept(args.listen)
    )
    running = asyncio.ensure_future(publisher.run(stream))
    # The task has only been scheduled, and operations can arrive immediately.
    await asyncio.sleep(0)
    working = asyncio.ensure_future(
        upper_tester.serve(operations(publisher)) if args.upper_tester else _work(publisher, args)
    )
    try:
        # Without operations it exits when its subscriber disconnects.
        await (working if args.upper_tester else running)
    finally:
        working.cancel()
        await stream.closed()
        running.cancel()
    return 0


async def _work(publisher: Publisher, args: argparse.Namespace) -> None:
    """Simulate a program that logs its progress at every level."""
    for number in itertools.count():
        level = LEVELS[number % len(LEVELS)]
        publisher.log(level, f"step {number}", "runtime.mock.work", {"number": number})
        await asyncio.sleep(args.every)


def operations(publisher: Publisher) -> Mapping[str, upper_tester.Operation]:
    async def log(args: dict[str, Any]) -> None:
        if args["level"] not in LEVELS:
            raise ValueError(f"the levels are {', '.join(LEVELS)}")
        publisher.log(args["level"], args["event"], args["logger"], args.get("extra") or {})

    return {"log": log}
