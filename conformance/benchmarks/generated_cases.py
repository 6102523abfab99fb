"""Generated messages a second over the wire, against Hypothesis generating the same ones alone.

Both draw the sessions of the property over setup commands, with the same seed and in turn; over the
wire each session has a fresh process of the mock, and everything that comes back is judged.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import hypothesis

from conformance import configuration, specs
from conformance.iut import Iut
from conformance.vexide import drawn
from conformance.vexide.play import START, shake_hands, shows

SESSIONS = 40
ROUNDS = 3


def main() -> None:
    role = specs.role("vexide/simulator")
    with asyncio.Runner() as runner:
        iut = Iut(configuration.embedded(role))

        async def session(commands: list[Any]) -> None:
            async with iut.session() as wire:
                await shake_hands(wire)
                await wire.send(*commands)
                await wire.expect("Ready")
                await wire.send(START)
                await shows(iut, wire)
            assert not wire.judge.findings
            iut.settle()

        alone, over_wire = [], []
        for seed in range(ROUNDS):
            alone.append(rate(seed, lambda commands: None))
            over_wire.append(rate(seed, lambda commands: runner.run(session(commands))))
            print(f"alone {alone[-1]:7.0f}/s   over the wire {over_wire[-1]:7.0f}/s")
        runner.run(iut.close())
    ratios = sorted(wire / bare for wire, bare in zip(over_wire, alone, strict=True))
    print(f"ratio {ratios[len(ratios) // 2]:.2f}  (median of {ROUNDS})")


def rate(seed: int, body: Callable[[list[Any]], None]) -> float:
    """Messages a second, drawn and given to a body."""
    drawn_messages = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=SESSIONS,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(drawn.setups())
    def run(commands: list[Any]) -> None:
        nonlocal drawn_messages
        drawn_messages += len(commands)
        body(commands)

    began = time.perf_counter()
    run()
    return drawn_messages / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
