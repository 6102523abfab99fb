"""The reference agent: creates a robot, nods, waves, and knows its hinges.

The agent moves a few hinges and talks. It does not walk or play.
"""

import argparse
import asyncio
from collections.abc import Mapping
from math import sin
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.run import note
from mocks.simspark import client
from mocks.simspark.client import Client
from mocks.simspark.settings import AGENTS
from mocks.upper_tester import Operation


class Agent(Client):
    """An agent. It sends its init after the first perceptors, or after some seconds without any.

    A server can send perceptors right after the scene message, and accept the init only then.
    Another server can wait for both messages.
    """

    def __init__(self, settings: argparse.Namespace) -> None:
        super().__init__(settings)
        self.initialised = False
        self.groups = 0
        self.now = 0.0
        self.game: dict[str, Any] = {}
        self.hinges: dict[str, float] = {}
        self.heard: list[str] = []

    def opened(self) -> None:
        self.create()
        loop = asyncio.get_running_loop()
        loop.call_later(self.settings.patience, self.stop_waiting)

    def stop_waiting(self) -> None:
        if not self.initialised and not self.ended:
            self.initialise()

    def create(self) -> None:
        self.send(f"(scene {self.settings.scene})")

    def initialise(self) -> None:
        self.initialised = True
        self.send(f"(init (unum {self.settings.unum})(teamname {self.settings.team}))")

    def heed(self, frame: Frame) -> None:
        if frame.name == "Empty" or not isinstance(frame.value, list):
            return
        for perceptor in frame.value:
            if isinstance(perceptor, list) and perceptor and isinstance(perceptor[0], str):
                self.perceive(perceptor[0], perceptor[1:])
        self.groups += 1
        if not self.initialised:
            self.initialise()
        else:
            self.act()

    # Perceptors

    def perceive(self, name: str, values: list[Any]) -> None:
        """Take over one perceptor. Unknown perceptors are ignored."""
        found = {item[0]: item[1:] for item in values if isinstance(item, list) and len(item) > 1}
        if name == "HJ" and "n" in found and "ax" in found:
            self.perceive_hinge(str(found["n"][0]), found["ax"][0])
        elif name == "time":
            self.now = number(found.get("now", [""])[0]) or self.now
        elif name == "GS":
            self.game |= found
        elif name == "hear" and values:
            self.hear(str(values[-1]))

    def perceive_hinge(self, name: str, text: Any) -> None:
        angle = number(text)
        if angle is not None:
            self.hinges[name] = angle

    def hear(self, text: str) -> None:
        self.heard = [*self.heard[-9:], text]
        note(f"heard {text}")

    # Effectors

    def act(self) -> None:
        """Send a nod of the head, and from time to time another effector."""
        self.send(f"({self.settings.hinge} {self.nod():.2f}){self.occasional_effector()}")

    def act_as_asked(self, text: str) -> None:
        self.send(text)

    def nod(self) -> float:
        return sin(self.groups / 10)

    def occasional_effector(self) -> str:
        if self.groups % 20 == 5:
            return f"(say hello_{self.settings.unum})"
        return "(lae1 1.0)(rae1 -1.0)" if self.groups % 20 == 15 else ""

    def operations(self) -> Mapping[str, Operation]:
        async def state(args: dict[str, Any]) -> Any:
            return self.state()

        async def act(args: dict[str, Any]) -> None:
            self.act_as_asked(client.text_of(args, "effectors"))

        return {"state": state, "act": act}

    def state(self) -> dict[str, Any]:
        return {"hinges": self.hinges, "now": self.now, "game": self.game, "heard": self.heard}


PEER = Agent


def options(parser: argparse.ArgumentParser) -> None:
    client.options(parser)
    parser.add_argument("--scene", default="rsg/agent/nao/nao.rsg", help="file and arguments")
    parser.add_argument("--unum", type=int, default=0, help="its number; 0 for any free number")
    parser.add_argument("--team", default="Reference")
    parser.add_argument("--hinge", default="he1", help="the effector of the head's nod")
    parser.add_argument(
        "--patience",
        type=float,
        default=0.5,
        metavar="S",
        help="seconds until init without perceptors",
    )


async def main(args: argparse.Namespace, peer: type[Agent]) -> int:
    """Run one agent until the server ends the connection."""
    return await client.play(args, peer(args), AGENTS)
