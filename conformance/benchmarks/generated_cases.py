"""Measure generated messages per second over the wire, against Hypothesis alone.

All ways draw the same setup commands, with the same seed, and run alternately. Over the wire, all
answers are judged. Each session has its own connection to a listening mock, or its own process, as
if a command starts the IUT.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import hypothesis

from conformance import configuration
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.iut import Iut
from conformance.running.testbed import Testbed
from conformance.segmentation import whole
from conformance.vexide import strategies
from conformance.vexide.commands import START
from conformance.vexide.simulator.probe_sessions import wait_for_output
from conformance.vexide.simulator.tester import shake_hands

ROLE = "vexide/simulator"
SESSIONS = 40  # in each round
ROUNDS = 3  # of which the median counts


def main() -> None:
    with asyncio.Runner() as runner, listening() as address:
        fresh_process = configuration.mock_configuration(protocols.role(ROLE))
        connection = replace(fresh_process, command=(), connect=address)
        ways = {"a connection each": connection, "a process each": fresh_process}
        ratios: dict[str, list[float]] = {name: [] for name in ways}
        for seed in range(ROUNDS):
            alone = rate(seed, lambda commands: None)
            print(f"alone {alone:.0f}/s", end="")
            for name, way in ways.items():
                over_wire = rate_over(way, runner, seed)
                ratios[name].append(over_wire / alone)
                print(f"   {name} {over_wire:.0f}/s", end="")
            print()
    for name, found in ratios.items():
        print(f"ratio {sorted(found)[ROUNDS // 2]:.2f}  {name}  (median of {ROUNDS})")


@contextlib.contextmanager
def listening() -> Iterator[str]:
    """Start a simulator that listens; yield its address."""
    words = [sys.executable, "-m", "mocks", ROLE, "--listen", "127.0.0.1:0", "--program", "print"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def rate_over(way: Configuration, runner: asyncio.Runner, seed: int) -> float:
    """Return messages per second, drawn and sent in sessions that are judged."""
    testbed = Testbed(way)
    iut = Iut(testbed, "")

    async def session(commands: list[Any]) -> None:
        async with iut.session() as wire:
            await shake_hands(wire)
            await wire.send(*commands, segmentation=whole)
            await wire.expect("Ready")
            await wire.send(START)
            await wait_for_output(iut, wire)
        assert not wire.judge.findings
        iut.settle()

    try:
        return rate(seed, lambda commands: runner.run(session(commands)))
    finally:
        runner.run(testbed.__aexit__())


def rate(seed: int, body: Callable[[list[Any]], None]) -> float:
    """Return messages per second, drawn and passed to ``body``."""
    drawn_messages = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=SESSIONS,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.setups())
    def run(commands: list[Any]) -> None:
        nonlocal drawn_messages
        drawn_messages += len(commands)
        body(commands)

    began = time.perf_counter()
    run()
    return drawn_messages / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
