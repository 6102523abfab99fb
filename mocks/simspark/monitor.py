"""The reference monitor and trainer: follows a game and draws the pitch as text.

The monitor keeps the whole scene graph and draws the pitch from above, without the bodies of the
robots. To send trainer commands, use a script, for example with `send: [[playMode, PlayOn]]`.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.simspark.codec import STATES
from conformance.simspark.scene import number
from conformance.simspark.view import View
from mocks.run import note
from mocks.simspark import client
from mocks.simspark.client import Client
from mocks.simspark.pitch import draw
from mocks.simspark.settings import MONITORS
from mocks.upper_tester import Operation


class Monitor(Client):
    """A monitor."""

    def __init__(self, settings: argparse.Namespace) -> None:
        super().__init__(settings)
        self.view = self.make_view()
        self.introduced = False
        self._tasks: list[asyncio.Task[None]] = []

    def make_view(self) -> View:
        return View()

    def heed(self, frame: Frame) -> None:
        if frame.name in STATES:
            self.take_state(frame)
            if not self.introduced and self.view.play_mode is not None:
                self.introduced = True
                self.begin()
        elif frame.name == "Ack":
            note(f"answered: {frame.value}")

    def take_state(self, frame: Frame) -> None:
        self.view.take(frame.value)

    def begin(self) -> None:
        """Start to show the pitch regularly. Called once after the introduction."""
        if self.settings.show != "none":
            self._tasks.append(asyncio.ensure_future(self.show()))

    def command(self, text: str) -> None:
        self.send(text)

    async def show(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                if self.settings.show == "pitch":
                    print(draw(self.view), flush=True)
                print(self.line(), flush=True)
                await asyncio.sleep(self.settings.every)

    def line(self) -> str:
        state = self.state()
        score = f"{state['score_left']:g}:{state['score_right']:g}"
        ball = "nowhere" if state["ball"] is None else ", ".join(f"{x:.2f}" for x in state["ball"])
        return f"{state['time']:.2f} s, {score}, {state['play_mode']}, ball at {ball}"

    # State for the upper tester

    def state(self) -> dict[str, Any]:
        ball = self.view.ball()
        return {
            "environment": self.environment(),
            "time": self.view.value("time"),
            "half": self.view.value("half"),
            "score_left": self.view.value("score_left"),
            "score_right": self.view.value("score_right"),
            "play_mode": self.view.play_mode,
            "ball": None if ball is None else list(ball),
        }

    def environment(self) -> dict[str, float]:
        numbers = {name: number(text) for name, text in self.view.environment.items()}
        return {name: value for name, value in numbers.items() if value is not None}

    def operations(self) -> Mapping[str, Operation]:
        async def state(args: dict[str, Any]) -> Any:
            return self.state()

        async def command(args: dict[str, Any]) -> None:
            self.command(client.text_of(args, "command"))

        return {"state": state, "command": command}


PEER = Monitor


def options(parser: argparse.ArgumentParser) -> None:
    client.options(parser)
    parser.add_argument("--show", choices=["none", "lines", "pitch"], default="pitch")
    parser.add_argument(
        "--every", type=float, default=1.0, metavar="S", help="seconds between two pictures"
    )


async def main(args: argparse.Namespace, peer: type[Monitor]) -> int:
    """Run one monitor until the server ends the connection."""
    if args.upper_tester:
        args.show = "none"
    return await client.play(args, peer(args), MONITORS)
